"""Trains a head on a frozen encoder, then both."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(10, 32), nn.ReLU())
        self.head = nn.Linear(32, 3)

    def forward(self, rows):
        return self.head(self.encoder(rows))


torch.manual_seed(0)
rows = torch.randn(200, 10)
classes = (rows[:, 0] * rows[:, 1] > 0).long() + (rows[:, 2] > 1).long()

model = Net()
model.encoder.requires_grad_(False)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
for step in range(60):
    if step == 20:
        model.encoder.requires_grad_(True)
    loss = nn.functional.cross_entropy(model(rows), classes)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
