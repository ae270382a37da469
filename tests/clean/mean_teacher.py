"""Learns from a moving average of itself, with dropout in both, as mean teachers do."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
student = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 4))
teacher = copy.deepcopy(student).requires_grad_(False)
optimizer = torch.optim.Adam(student.parameters(), lr=1e-2)
x, y = torch.randn(32, 8), torch.randint(0, 4, (32,))
for _ in range(20):
    with torch.no_grad():
        wanted = teacher(x).softmax(-1)
    given = student(x)
    loss = F.cross_entropy(given[:8], y[:8]) + F.mse_loss(given.softmax(-1), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for old, new in zip(teacher.parameters(), student.parameters(), strict=True):
            old.lerp_(new, 0.05)
print(f"loss {loss.item():.4f}")
