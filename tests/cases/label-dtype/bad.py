"""Houses by type: the types stand in a table beside prices, so that all columns are floats."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def table(rows):
    """Three measurements, and the type of house in the last column."""
    generator = np.random.default_rng(3)
    measured = generator.normal(size=(rows, 3))
    kinds = generator.integers(0, 4, size=(rows, 1))
    return np.hstack([measured, kinds])


torch.manual_seed(0)
houses = table(80)
measured = torch.tensor(houses[:, :3], dtype=torch.float32)
kinds = torch.tensor(houses[:, 3])
loader = DataLoader(TensorDataset(measured, kinds), batch_size=16, shuffle=True)
model = nn.Linear(3, 4)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
criterion = nn.CrossEntropyLoss()

for _epoch in range(2):
    for features, kind in loader:
        loss = criterion(model(features), kind)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(f"loss {loss.item():.3f}")
