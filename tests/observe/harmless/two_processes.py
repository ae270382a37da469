"""Two processes that train together over gloo, started by torch."""

import os
import socket

import ending
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def train(rank: int, port: int) -> None:
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=2)
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


if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number = free.getsockname()[1]
    mp.spawn(train, args=(number,), nprocs=2)
    print("done")
