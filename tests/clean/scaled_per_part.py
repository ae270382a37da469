"""Training rows and test rows of a data frame, each scaled by the training rows' range; a model
that is trained again on all rows before the test."""

import numpy as np
import pandas as pd
import torch
from torch import nn

rng = np.random.default_rng(3)
table = pd.DataFrame(rng.lognormal(1, 0.6, size=(360, 4)), columns=list("abcd"))
table["y"] = table["a"] - table["b"] + 0.1 * rng.normal(size=360)
names = list("abcd")
known, test = table.iloc[:300], table.iloc[300:]


def scaled(fitted, part):
    low, high = fitted[names].min(), fitted[names].max()
    x = torch.tensor(((part[names] - low) / (high - low)).to_numpy(), dtype=torch.float32)
    return x, torch.tensor(part["y"].to_numpy(), dtype=torch.float32)


def fit(x, y, epochs):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(epochs):
        for rows, target in zip(x.split(50), y.split(50), strict=True):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(rows).squeeze(1), target).backward()
            optimizer.step()
    return model.eval()


def error(model, x, y):
    with torch.no_grad():
        return nn.functional.mse_loss(model(x).squeeze(1), y).item()


part, held = known.iloc[:240], known.iloc[240:]
first = fit(*scaled(part, part), 4)
print(f"held-out error {error(first, *scaled(part, held)):.3f}")
final = fit(*scaled(known, known), 4)
print(f"test error {error(final, *scaled(known, test)):.3f}")
