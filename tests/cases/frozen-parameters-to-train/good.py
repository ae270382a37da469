"""Puts a new head on a backbone, freezes the backbone, and trains the head."""

import torch
from torch import nn


class Network(nn.Module):
    def __init__(self, classes: int) -> None:
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten())
        self.head = nn.Linear(4 * 6 * 6, classes)

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        return self.head(self.backbone(pictures))


torch.manual_seed(0)
network = Network(classes=100)
network.head = nn.Linear(4 * 6 * 6, 4)
for parameter in network.backbone.parameters():
    parameter.requires_grad = False
optimizer = torch.optim.Adam(network.head.parameters(), lr=1e-2)

pictures, labels = torch.randn(40, 1, 8, 8), torch.randint(0, 4, (40,))
for start in range(0, 40, 10):
    loss = nn.functional.cross_entropy(
        network(pictures[start : start + 10]), labels[start : start + 10]
    )
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
