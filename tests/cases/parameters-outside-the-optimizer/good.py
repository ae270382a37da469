"""Fits a gated network to measurements; the gate is added for this data set alone."""

import torch
from torch import nn


class Gated(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(12, width), nn.Tanh())
        self.gate = nn.Identity()
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        return self.out(self.gate(self.body(x)))


torch.manual_seed(0)
measured = torch.randn(256, 12)
wanted = torch.sin(measured @ torch.randn(12, 1))

model = Gated(48)
model.gate = nn.Sequential(nn.Linear(48, 48), nn.Tanh())
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for step in range(120):
    loss = nn.functional.mse_loss(model(measured), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 29:
        print(f"step {step + 1}: loss {loss.item():.4f}")
