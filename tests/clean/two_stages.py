"""Pretrains, swaps the head, and makes a new optimizer for the second stage."""

import torch
from torch import nn


def train(model, optimizer, x, y):
    for _ in range(12):
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 24), nn.Tanh(), nn.Linear(24, 5))
x = torch.randn(90, 8)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
first = train(model, optimizer, x, torch.randint(0, 5, (90,)))
model[2] = nn.Linear(24, 2)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
second = train(model, optimizer, x, torch.randint(0, 2, (90,)))
print(f"losses {first:.4f}, {second:.4f}")
