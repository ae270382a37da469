"""Keeps a part of each gradient for the next step, in place of momentum, and measures norms."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(160, 8)
y = torch.sin(x @ torch.randn(8, 1))
loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))

optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(3):
    for inputs, targets in loader:
        loss = nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm=1e9)
        for parameter in model.parameters():
            parameter.grad.mul_(0.9)
print(f"loss {loss.item():.4f}, norm {norm:.4f}")
