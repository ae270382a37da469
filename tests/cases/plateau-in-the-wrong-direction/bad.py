"""Fits a curve; the rate is lowered where the validation error has stopped falling."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.linspace(-2, 2, 256)[:, None]
y = torch.sin(2 * x) + 0.1 * torch.randn(256, 1)
held_out = torch.arange(256) % 4 == 0
net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, "max", patience=3)

for epoch in range(60):
    loss = nn.functional.mse_loss(net(x[~held_out]), y[~held_out])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        error = nn.functional.l1_loss(net(x[held_out]), y[held_out])
    plateau.step(error)
print(f"error {error:.3f}")
