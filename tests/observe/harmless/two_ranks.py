"""One of two ranks that a launcher starts."""

import ending
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank = dist.get_rank()
ending.seed()
model = DistributedDataParallel(nn.Linear(4, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    rows = torch.randn(3, 4, generator=torch.Generator().manual_seed(10 * rank + step))
    loss = model(rows).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    dist.all_reduce(loss)
    if rank == 0:
        print(step, loss.item())
if rank == 0:
    ending.tell(model)
dist.barrier()
dist.destroy_process_group()
