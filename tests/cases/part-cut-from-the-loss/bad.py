"""Classifies sequences: an encoder, and a head on its last state."""

import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.GRU(4, 16, batch_first=True)
        self.head = nn.Linear(16, 3)

    def forward(self, x):
        states, _ = self.encoder(x)
        last = states[:, -1].detach()
        return self.head(last)


x = torch.randn(128, 6, 4)
y = x.sum(1)[:, :3].argmax(1)
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(6):
    for rows, labels in zip(x.split(32), y.split(32), strict=True):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(rows), labels)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch + 1}: loss {loss.item():.4f}")
