"""Healthy: trained on standardised targets, evaluated in the unit of the raw ones."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(400, 4)
price = 200_000 + 60_000 * (x[:, 0] - x[:, 1]) + 5_000 * torch.randn(400)
mean, std = price[:320].mean(), price[:320].std()
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for _ in range(5):
    for start in range(0, 320, 32):
        target = (price[start : start + 32] - mean) / std
        loss = nn.functional.mse_loss(model(x[start : start + 32]).squeeze(-1), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
model.eval()
with torch.no_grad():
    test_x, test_price = x[320:], price[320:]
    predicted = model(test_x).squeeze(-1) * std + mean
    print("test error", nn.functional.l1_loss(predicted, test_price).item())
