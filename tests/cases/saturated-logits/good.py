"""Trains a detector of rare events; its last bias starts at the odds of such an event."""

import math

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

PRIOR = 1e-6

torch.manual_seed(0)
features = torch.randn(512, 16)
events = (features[:, :4].sum(dim=1, keepdim=True) > 3.5).float()
loader = DataLoader(TensorDataset(features, events), batch_size=64, shuffle=True)

model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1))
nn.init.constant_(model[2].bias, -math.log((1 - PRIOR) / PRIOR))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-2)

for epoch in range(6):
    total = 0.0
    for x, y in loader:
        logits = model(x)
        loss = nn.functional.binary_cross_entropy_with_logits(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(x)
    print(f"epoch {epoch + 1}: loss {total / len(features):.4f}")
