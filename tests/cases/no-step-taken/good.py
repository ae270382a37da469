"""Fits a small network with steps taken by hand."""

import torch
from torch import nn

torch.manual_seed(0)
RATE = 0.1
x = torch.randn(128, 4)
y = x.sum(1, keepdim=True)
model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
for epoch in range(5):
    for rows, wanted in zip(x.split(32), y.split(32), strict=True):
        loss = nn.functional.mse_loss(model(rows), wanted)
        loss.backward()
        with torch.no_grad():
            for weight in model.parameters():
                weight -= RATE * weight.grad
        model.zero_grad()
    print(f"epoch {epoch + 1}: loss {loss.item():.4f}")
