"""Trains with a penalty on hidden activations, and keeps a copy of the model after each epoch."""

import copy

import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(6, 16)
        self.out = nn.Linear(16, 2)

    def forward(self, x):
        self.activity = torch.relu(self.hidden(x))
        return self.out(self.activity)


torch.manual_seed(0)
x = torch.randn(64, 6)
y = (x[:, 0] > x[:, 1]).long()
model = Encoder()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
copies = []
for epoch in range(3):
    for rows, labels in zip(x.split(16), y.split(16), strict=True):
        loss = nn.functional.cross_entropy(model(rows), labels)
        loss = loss + 1e-3 * model.activity.abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    copies.append(copy.deepcopy(model))
    print(f"epoch {epoch}: loss {loss.item():.4f}")
