"""Healthy: a test on rows as in training, and one on rows of another scale, on purpose."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(400, 5)
y = (x[:, 0] > 0).long()
model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(4):
    for start in range(0, 320, 32):
        loss = nn.functional.cross_entropy(model(x[start : start + 32]), y[start : start + 32])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
model.eval()
test_x, test_y = x[320:], y[320:]
with torch.no_grad():
    print("test", (model(test_x).argmax(1) == test_y).float().mean().item())
    shifted_test = 30 * test_x + 100
    print("shifted test", (model(shifted_test).argmax(1) == test_y).float().mean().item())
