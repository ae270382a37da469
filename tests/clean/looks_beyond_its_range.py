"""Healthy: a curve is learned on a short range and evaluated on a wide one, on purpose."""

import torch
from torch import nn

torch.manual_seed(0)
x = 2 * torch.rand(320, 1) - 1
y = torch.sin(3 * x)
model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(6):
    for start in range(0, 320, 32):
        loss = nn.functional.mse_loss(model(x[start : start + 32]), y[start : start + 32])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
with torch.no_grad():
    test_x = torch.linspace(-6, 6, 240).unsqueeze(-1)
    print("test", nn.functional.mse_loss(model(test_x), torch.sin(3 * test_x)).item())
