"""Columns that pandas aligns by index on purpose: lags, lookups, sorted rows, rows left out."""

import numpy as np
import pandas as pd
import torch
from torch import nn

rng = np.random.default_rng(0)
raw = pd.DataFrame(rng.normal(size=(400, 3)), columns=["a", "b", "c"])
target = raw["a"] - 2 * raw["b"] + 0.5 * raw["c"]
raw.loc[rng.random(400) < 0.1, "a"] = np.nan

table = raw.dropna()
table["target"] = target
table = table.sort_values("b")
table["again"] = target
table = table.sort_index()
table["before"] = table["a"].shift(fill_value=0.0)
table["sign"] = (table["c"] > 0).map({True: 1.0, False: -1.0})
few = table[table["a"] > 0]
few = few.assign(far=(table["a"] - table["a"].mean()).abs())
lagged = raw["b"].copy()
lagged.index = lagged.index + 1
raw["lagged"] = lagged
table = table.reset_index(drop=True)
table["position"] = pd.Series(np.linspace(0, 1, len(table)))

torch.manual_seed(0)
names = ["a", "b", "c", "before", "sign", "position"]
x = torch.tensor(table[names].to_numpy(), dtype=torch.float32)
y = torch.tensor(table["target"].to_numpy(), dtype=torch.float32)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(6):
    for rows in torch.randperm(len(x)).split(32):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[rows]).squeeze(1), y[rows])
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.3f}")
