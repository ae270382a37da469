"""Adds the gradients of three tasks, and lets the rate go up and down."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(160, 8)
y = torch.sin(x @ torch.randn(8, 1))
loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))

optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=5)
for _ in range(4):
    for inputs, targets in loader:
        optimizer.zero_grad()
        for power in (1, 2, 3):
            loss = nn.functional.mse_loss(model(inputs), targets**power)
            loss.backward()
        optimizer.step()
        scheduler.step()
print(f"loss {loss.item():.4f}")
