"""Trains a head on what an encoder gives, which is frozen and keeps its dropout and batch norm."""

import torch
from torch import nn
from torch.nn import functional as F


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.Dropout(0.2))
        self.encoder.requires_grad_(False)
        self.head = nn.Linear(32, 4)

    def forward(self, rows):
        with torch.no_grad():
            hidden = self.encoder(rows)
        return self.head(hidden)


torch.manual_seed(0)
model = Classifier()
optimizer = torch.optim.Adam(model.head.parameters(), lr=1e-2)
x, y = torch.randn(32, 8), torch.randint(0, 4, (32,))
for _ in range(20):
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
