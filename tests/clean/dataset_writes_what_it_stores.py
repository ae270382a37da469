"""Datasets that write into arrays of their own on purpose: a cache, a buffer, counts of visits."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, Subset, TensorDataset


class Cached(Dataset):
    def __init__(self, rows, labels):
        self.rows, self.labels = rows, labels
        self.cache = np.zeros_like(rows)
        self.filled = np.zeros(len(rows), dtype=bool)
        self.scratch = np.zeros((2, rows.shape[1]), dtype=np.float32)
        self.visits = torch.zeros(len(rows), 2)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        self.visits[index] += 1
        if not self.filled[index]:
            row = self.cache[index]
            row += self.rows[index] / np.abs(self.rows).max()
            self.filled[index] = True
        noisy = self.scratch[0]
        noisy[:] = self.cache[index]
        noisy *= np.random.uniform(0.5, 0.9)
        return torch.from_numpy(noisy.copy()), int(self.labels[index])


class Shifted(Dataset):
    """Changes in place what it has copied."""

    def __init__(self, inner):
        self.inner = inner

    def __len__(self):
        return len(self.inner)

    def __getitem__(self, index):
        row, label = self.inner[index]
        row = row.clone()
        row += 0.1 * torch.randn(len(row))
        return row, label


torch.manual_seed(0)
np.random.seed(0)
labels = np.random.randint(0, 3, 120)
rows = (np.random.randn(3, 8)[labels] + np.random.randn(120, 8)).astype(np.float32)
plain = Subset(TensorDataset(torch.tensor(rows), torch.tensor(labels)), list(range(0, 120, 2)))
loaders = [
    DataLoader(Cached(rows, labels), batch_size=12, shuffle=True),
    DataLoader(Shifted(plain), batch_size=12, shuffle=True),
]
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
bank = loaders[1].dataset.inner.dataset.tensors[0]
for epoch in range(5):
    for loader in loaders:
        for row, label in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(row), label)
            loss.backward()
            optimizer.step()
    bank[::8] += 0.01 * torch.randn(15, 8)  # rows are renewed between epochs
    print(f"epoch {epoch}: loss {loss.item():.3f}")
