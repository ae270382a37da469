"""Batches that are kept, and drawn again at random."""

import random

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

random.seed(0)
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


loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
kept = list(loader)
buffer = []
for epoch in range(4):
    random.shuffle(kept)
    for b, t in kept:
        last = step(b, t)
for b, t in loader:
    last = step(b, t)
    buffer.append((b, t))
    old = random.choice(buffer)
    last = step(*old)
for i in range(40):
    last = step(*random.choice(buffer))
print(last)
