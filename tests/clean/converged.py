"""Goes on training after everything is learned: the loss stands still at its least."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
x = torch.randn(64, 3)
y = x @ torch.tensor([[1.0], [2.0], [-1.0]]) + 0.5
for _ in range(200):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"step 200: loss {loss.item():.2e}")
