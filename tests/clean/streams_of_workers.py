"""Streams that workers share, and endless ones that draw at random."""

import itertools

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

torch.manual_seed(0)
x = torch.randn(240, 8)
y = x[:, :3].argmax(1)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
opt = torch.optim.Adam(model.parameters(), 0.01)


def step(b, t):
    loss = F.cross_entropy(model(b), t)
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()


class Sharded(IterableDataset):
    def __iter__(self):
        info = get_worker_info()
        first, step = (info.id, info.num_workers) if info else (0, 1)
        for i in range(first, 240, step):
            yield x[i], y[i]


class Endless(IterableDataset):
    def __iter__(self):
        g = torch.Generator().manual_seed(torch.initial_seed() % 2**31)
        while True:
            i = int(torch.randint(0, 240, (1,), generator=g))
            yield x[i], y[i]


if __name__ == "__main__":
    for epoch in range(3):
        for b, t in DataLoader(Sharded(), batch_size=16, num_workers=2):
            last = step(b, t)
    for b, t in itertools.islice(DataLoader(Endless(), batch_size=16, num_workers=2), 40):
        last = step(b, t)
    print(last)
