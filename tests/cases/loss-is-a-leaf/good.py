"""Fits a line to noisy points; the errors are computed with NumPy."""

import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
x = torch.rand(200, 1)
y = 3 * x - 1 + 0.1 * torch.randn(200, 1)
model = nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
for epoch in range(20):
    optimizer.zero_grad()
    error = nn.functional.mse_loss(model(x), y)
    loss = error
    loss.backward()
    optimizer.step()
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1}: loss {np.round(loss.item(), 4)}")
