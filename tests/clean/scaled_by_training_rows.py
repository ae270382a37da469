"""A scaler that knows the training rows alone, shares that lie between 0 and 1 by nature, rows that
are each scaled by themselves, and a training set of which chunks are taken."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

rng = np.random.default_rng(0)


class Scaler:
    def fit(self, rows):
        self.mean, self.spread = rows.mean(0), rows.std(0)
        return self

    def transform(self, rows):
        return (rows - self.mean) / self.spread


def train(model, x, y, held_x, held_y):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(2):
        model.train()
        for rows, labels in zip(x.split(64), y.split(64), strict=True):
            loss = nn.functional.cross_entropy(model(rows), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            error = nn.functional.cross_entropy(model(held_x), held_y)
    print(f"held-out loss {error.item():.3f}")


amounts = rng.gamma(2.0, 3.0, size=(320, 5))
classes = torch.tensor((amounts[:, 0] > 5).astype(np.int64))
scaler = Scaler().fit(amounts[:256])
scaled = torch.tensor(scaler.transform(amounts), dtype=torch.float32)
torch.manual_seed(0)
train(nn.Linear(5, 2), scaled[:256], classes[:256], scaled[256:], classes[256:])

shares = rng.beta(0.4, 0.4, size=(320, 4))
shares[rng.random(shares.shape) < 0.05] = 0.0
shares[rng.random(shares.shape) < 0.05] = 1.0
parts = torch.tensor(shares, dtype=torch.float32)
train(nn.Linear(4, 2), parts[:256], classes[:256], parts[256:], classes[256:])

waves = torch.tensor(rng.normal(3, 2, size=(320, 12)), dtype=torch.float32)
waves = (waves - waves.mean(1, keepdim=True)) / waves.std(1, keepdim=True)
first, second = random_split(TensorDataset(waves, classes), [256, 64])
model = nn.Sequential(nn.Linear(12, 8), nn.ReLU(), nn.Linear(8, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
model.train()
for rows, labels in DataLoader(first, 32, shuffle=True):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(rows), labels).backward()
    optimizer.step()
model.eval()
with torch.no_grad():
    hits = sum(
        (model(rows).argmax(1) == labels).sum().item() for rows, labels in DataLoader(second, 64)
    )
print(f"accuracy {hits / len(second):.3f}")
