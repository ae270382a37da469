"""Rows by weight, in duplicate, and of a part, on purpose."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import (
    DataLoader,
    RandomSampler,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
)

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


weights = torch.tensor([1.0, 4.0, 8.0])[y]
over = DataLoader(TensorDataset(x, y), batch_size=16, sampler=WeightedRandomSampler(weights, 240))
idx = list(range(200)) + list(range(20)) * 4
dup = DataLoader(Subset(TensorDataset(x, y), idx), batch_size=16, shuffle=True)
split = DataLoader(
    TensorDataset(x, y), batch_size=16, sampler=SubsetRandomSampler(list(range(100)))
)
few = DataLoader(
    TensorDataset(x, y), batch_size=16, sampler=RandomSampler(range(240), num_samples=48)
)
for epoch in range(6):
    for loader in (over, dup, split, few):
        for b, t in loader:
            last = step(b, t)
print(last)
