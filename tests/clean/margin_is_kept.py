"""A ranking loss whose margin is kept from the first step: a loss and gradients of zero."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1, bias=False)
with torch.no_grad():
    model.weight.copy_(torch.tensor([[5.0, 0.0, 0.0, 0.0]]))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
better, worse = torch.rand(32, 4) + 1, -torch.rand(32, 4) - 1
for _ in range(10):
    loss = (1 - (model(better) - model(worse))).clamp(min=0).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
