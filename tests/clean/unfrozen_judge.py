"""A judge of images, made after the optimizer and never frozen, passes gradients on."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Conv2d(1, 1, 3, padding=1)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
judge = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Conv2d(8, 4, 3)).eval()
blurred, sharp = torch.randn(6, 1, 10, 10), torch.randn(6, 1, 10, 10)
for _ in range(15):
    loss = nn.functional.mse_loss(judge(model(blurred)), judge(sharp))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
