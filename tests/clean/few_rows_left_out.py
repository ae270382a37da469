"""Last batches that are dropped, and loaders of unequal length."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(240, 8)
y = x[:, :3].argmax(1)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
opt = torch.optim.Adam(model.parameters(), 0.01)


def step(b, t):
    loss = F.cross_entropy(model(b), t)
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()


loader = DataLoader(TensorDataset(x, y), batch_size=50, drop_last=True)
small = DataLoader(TensorDataset(x[:80], y[:80]), batch_size=16, shuffle=True)
large = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True, drop_last=True)
for epoch in range(5):
    for b, t in loader:
        last = step(b, t)
    for (a, ta), (b, tb) in zip(small, large, strict=False):
        last = step(torch.cat([a, b]), torch.cat([ta, tb]))
print(last)
