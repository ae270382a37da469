"""Trains a new head on a body that is frozen on purpose, with the head alone in the optimizer."""

import torch
from torch import nn

torch.manual_seed(0)
body = nn.Sequential(nn.Linear(8, 32), nn.Tanh())
head = nn.Linear(32, 3)
for parameter in body.parameters():
    parameter.requires_grad = False
optimizer = torch.optim.Adam(head.parameters(), lr=1e-2)
x, y = torch.randn(96, 8), torch.randint(0, 3, (96,))
for _ in range(20):
    loss = nn.functional.cross_entropy(head(body(x)), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
