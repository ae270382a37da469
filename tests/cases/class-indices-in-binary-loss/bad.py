"""Mushrooms of four kinds: one output for each kind, and a loss for yes or no."""

import torch
from torch import nn

torch.manual_seed(0)
kinds = torch.randint(0, 4, (80,))
mushrooms = torch.randn(80, 6) + kinds[:, None]
model = nn.Linear(6, 4)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
criterion = nn.BCEWithLogitsLoss()

for begin in range(0, 80, 10):
    x, y = mushrooms[begin : begin + 10], kinds[begin : begin + 10]
    loss = criterion(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
