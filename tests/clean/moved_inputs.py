"""Trains on inputs that were moved to where the loss is larger, in three passes of one line."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(160, 8)
y = torch.sin(x @ torch.randn(8, 1))
loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))

optimizer = torch.optim.SGD(model.parameters(), lr=0.05)


def gradients(inputs, targets):
    loss = nn.functional.mse_loss(model(inputs), targets)
    loss.backward()
    return loss


for _ in range(3):
    for inputs, targets in loader:
        moved = inputs
        for _ in range(3):
            moved = moved.detach().requires_grad_()
            gradients(moved, targets)
            moved = moved + 0.01 * moved.grad.sign()
        optimizer.zero_grad()
        loss = gradients(moved.detach(), targets)
        optimizer.step()
print(f"loss {loss.item():.4f}")
