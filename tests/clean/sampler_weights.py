"""Weighted samplers: by the inverse of class counts, of a subset, and by how good each row is."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset, WeightedRandomSampler

torch.manual_seed(0)
labels = torch.multinomial(torch.tensor([0.7, 0.2, 0.1]), 300, replacement=True)
rows = torch.randn(3, 10)[labels] + torch.randn(300, 10)
quality = torch.rand(300) + 0.5 * (labels == 0)
dataset = TensorDataset(rows, labels)
part = Subset(dataset, list(range(0, 300, 2)))
counts = torch.bincount(labels)
loaders = [
    DataLoader(dataset, 30, sampler=WeightedRandomSampler(1 / counts[labels], 300)),
    DataLoader(dataset, 30, sampler=WeightedRandomSampler(quality, 300)),
    DataLoader(dataset, 30, sampler=WeightedRandomSampler(torch.ones(300), 300)),
    DataLoader(part, 30, sampler=WeightedRandomSampler(1 / counts[labels[::2]].sqrt(), 150)),
]
model = nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Linear(24, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for loader in loaders:
    for row, label in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(row), label)
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")
