"""Trains a new head on a frozen encoder with batch norm."""

import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(6, 32), nn.BatchNorm1d(32), nn.ReLU())
        self.head = nn.Linear(32, 3)

    def forward(self, x):
        return self.head(self.encoder(x))


model = Net()
optimizer = torch.optim.Adam(model.head.parameters(), lr=1e-2)
for name, parameter in model.named_parameters():
    if name.startswith("encoder"):
        parameter.requires_grad = False
x = torch.randn(128, 6)
y = x[:, :3].argmax(1)
for epoch in range(6):
    for rows, labels in zip(x.split(32), y.split(32), strict=True):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(rows), labels)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch + 1}: loss {loss.item():.4f}")
