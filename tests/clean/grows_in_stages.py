"""Adds a layer between two stages, and a group for it to the optimizer."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=2e-2)
x = torch.randn(64, 5)
y = x.pow(2).sum(dim=1, keepdim=True)
for step in range(24):
    if step == 12:
        model.insert(2, nn.Linear(16, 16))
        optimizer.add_param_group({"params": model[2].parameters()})
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
