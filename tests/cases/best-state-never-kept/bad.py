"""Trains a small classifier and keeps the epoch with the least held-out loss in a file."""

from pathlib import Path

import torch
from torch import nn

torch.manual_seed(0)
features, labels = torch.randn(64, 5), torch.randint(2, (64,))
model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

best_loss = 0.0
for epoch in range(6):
    for rows in torch.arange(48).split(16):
        loss = nn.functional.cross_entropy(model(features[rows]), labels[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        val_loss = nn.functional.cross_entropy(model(features[48:]), labels[48:]).item()
    print(f"epoch {epoch}: {val_loss:.4f}")
    if val_loss < best_loss:
        best_loss = val_loss
        torch.save(model.state_dict(), "best.pt")

print("saved" if Path("best.pt").exists() else "done")
