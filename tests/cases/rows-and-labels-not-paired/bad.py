import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(0)
labels = rng.integers(0, 4, 400)
rows = (rng.normal(size=(4, 10))[labels] + rng.normal(size=(400, 10))).astype(np.float32)


def batches(x, y, size):
    x = rng.permutation(x)
    y = rng.permutation(y)
    for start in range(0, len(x), size):
        yield torch.from_numpy(x[start : start + size]), torch.from_numpy(y[start : start + size])


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Linear(24, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(4):
    for row, label in batches(rows, labels, 40):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(row), label)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.3f}")
