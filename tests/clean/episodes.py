"""Few-shot episodes: the rows of a batch are examples and questions of one task."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

CLASSES, SHOTS, ASKED = 3, 2, 4


class Prototypes(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 8))

    def forward(self, rows):
        points = self.body(rows)
        middle = points[: CLASSES * SHOTS].view(CLASSES, SHOTS, -1).mean(dim=1)
        return -torch.cdist(points, middle)


torch.manual_seed(0)
labels = torch.arange(CLASSES).repeat_interleave(SHOTS).tolist()
labels += torch.arange(CLASSES).repeat(ASKED).tolist()
labels = torch.tensor(labels * 12)
rows = torch.randn(len(labels), 10) + 2 * labels[:, None]
model = Prototypes()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
size = CLASSES * (SHOTS + ASKED)
for epoch in range(3):
    for batch, wanted in DataLoader(TensorDataset(rows, labels), batch_size=size):
        optimizer.zero_grad()
        distances = model(batch)
        loss = nn.functional.cross_entropy(distances[CLASSES * SHOTS :], wanted[CLASSES * SHOTS :])
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
