"""Levels of a scale, averaged over windows and rounded, as targets of a classification: a mean of
levels is a level."""

import torch
from torch import nn

torch.manual_seed(0)
ratings = torch.randint(0, 5, (96, 24)).float()
windows = ratings.unfold(1, 6, 6)
levels = windows.mean(2).round().long()

net = nn.Sequential(nn.Conv1d(6, 16, 1), nn.ReLU(), nn.Conv1d(16, 5, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
inputs = windows.transpose(1, 2)
for epoch in range(3):
    for x, y in zip(inputs.split(16), levels.split(16), strict=True):
        loss = nn.functional.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.3f}")
