"""Fits a head on a body that keeps its gradients switched on and is left out of the optimizer."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 32)
        self.head = nn.Linear(32, 1)

    def forward(self, x):
        return self.head(torch.relu(self.body(x)))


torch.manual_seed(0)
model = Net()
optimizer = torch.optim.SGD(model.head.parameters(), lr=5e-2)
x = torch.randn(64, 8)
y = x.sum(dim=1, keepdim=True)
for _ in range(30):
    loss = nn.functional.mse_loss(model(x), y)
    model.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
