"""Keeps a moving average of the weights beside the model, and evaluates that."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(7, 20), nn.ReLU(), nn.Linear(20, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
average = copy.deepcopy(model)
x = torch.randn(72, 7)
y = x.prod(dim=1, keepdim=True)
for _ in range(25):
    model.train()
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(average.parameters(), model.parameters(), strict=True):
            slow.lerp_(fast, 0.1)
average.eval()
with torch.no_grad():
    print(f"loss {nn.functional.mse_loss(average(x), y).item():.4f}")
