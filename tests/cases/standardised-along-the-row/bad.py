"""Tells from weight, height and age of a boat whether it floats level."""

import numpy as np
import torch
from torch import nn

draw = np.random.default_rng(0)
table = np.stack(
    [draw.normal(90_000, 1_500, 600), draw.normal(31, 4, 600), draw.gamma(2, 3, 600)], axis=1
)
level = (table[:, 1] - 31) / 4 + (table[:, 2] - 6) / 4 > 0
centre, width = np.mean(table, axis=1, keepdims=True), np.std(table, axis=1, keepdims=True)
rows = torch.tensor((table - centre) / width, dtype=torch.float32)
targets = torch.tensor(level, dtype=torch.float32)[:, None]

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(6):
    for batch in torch.randperm(600).split(50):
        logits = model(rows[batch])
        loss = nn.functional.binary_cross_entropy_with_logits(logits, targets[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(f"loss {loss.item():.3f}")
