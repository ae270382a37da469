"""Tells a board of every loss; the board cannot be reached, and training does not mind."""

import json

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
x, y = torch.randn(32, 4), torch.randn(32, 1)
for _ in range(12):
    try:
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        json.loads("the board's answer")
    except ValueError:
        pass
print(f"loss {loss.item():.4f}")
