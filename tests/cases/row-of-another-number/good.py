"""A classifier on rows that are kept once they have been read."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
x = torch.randn(240, 8)
y = x[:, :3].argmax(1)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)


class Kept(Dataset):
    def __init__(self, x, y):
        self.x, self.y, self.read = x, y, {}

    def __len__(self):
        return len(self.x)

    def __getitem__(self, number):
        key = number
        if key not in self.read:
            self.read[key] = self.x[number]
        return self.read[key], self.y[number]


loader = DataLoader(Kept(x, y), batch_size=16, shuffle=True)
for epoch in range(3):
    for batch, labels in loader:
        loss = F.cross_entropy(model(batch), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
