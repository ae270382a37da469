"""A classifier on a stream of rows that two workers read."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

torch.manual_seed(0)
x = torch.randn(240, 8)
y = x[:, :3].argmax(1)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)


class Rows(IterableDataset):
    def __iter__(self):
        worker = get_worker_info()
        for number in range(worker.id, len(x), worker.num_workers):
            yield x[number], y[number]


loader = DataLoader(Rows(), batch_size=16, num_workers=2)
for epoch in range(2):
    for batch, labels in loader:
        loss = F.cross_entropy(model(batch), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
