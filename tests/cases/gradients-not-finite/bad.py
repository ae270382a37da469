"""Learns to place points at given distances, in mixed precision."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(24, 4)
wanted = torch.cdist(x[:, :2], x[:, :2])
model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
scaler = torch.amp.GradScaler("cpu", init_scale=256.0)
for step in range(30):
    optimizer.zero_grad()
    places = model(x)
    squares = (places[:, None] - places[None]).square().sum(-1)
    distances = torch.sqrt(squares)
    loss = (distances - wanted).square().mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    if step % 10 == 9:
        print(f"step {step + 1}: loss {loss.item():.4f}")
