"""Predicts counts; the worst row of each batch is printed, the mean is what counts."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(7, 14), nn.ReLU(), nn.Linear(14, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
criterion = nn.PoissonNLLLoss(reduction="none")

for step in range(6):
    rows = torch.rand(24, 7)
    counts = torch.poisson(rows.sum(dim=1))
    loss = criterion(model(rows).squeeze(-1), counts)
    optimizer.zero_grad()
    loss.mean().backward()
    optimizer.step()
    print(f"{step}: mean {loss.mean().item():.3f}, worst {loss.max().item():.3f}")
