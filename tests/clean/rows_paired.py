"""Rows and labels in other orders than before that still are pairs: a data frame whose labels were
numbered again, one order for both, labels renamed, another column beside them, random labels on
purpose as a control."""

import numpy as np
import pandas as pd
import torch
from torch import nn

rng = np.random.default_rng(0)
torch.manual_seed(0)


def train(x, y):
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(2):
        for batch in torch.randperm(len(x)).split(30):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x[batch]), y[batch])
            loss.backward()
            optimizer.step()
    print(f"loss {loss.item():.3f}")


def by_one_order():
    labels = rng.integers(0, 3, 300)
    site = rng.permutation(labels)
    rows = (rng.normal(size=(3, 6))[labels] + rng.normal(size=(300, 6))).astype(np.float32)
    order = rng.permutation(300)
    train(torch.from_numpy(rows[order]), torch.from_numpy((labels[order] + 1) % 3))
    return site


def by_frames():
    table = pd.DataFrame(rng.normal(size=(300, 6)), columns=list("abcdef"))
    table["kind"] = pd.cut(table.a + table.b, 3, labels=["low", "middle", "high"])
    table = table.sample(frac=1.0, random_state=0)
    features = table[list("abcdef")]
    kinds = pd.Series(table.kind.cat.codes.to_numpy())
    scaled = (features - features.mean()) / features.std()
    x = torch.tensor(scaled.to_numpy(dtype=np.float32))
    train(x, torch.tensor(kinds.to_numpy(dtype=np.int64)))


def control():
    labels = rng.integers(0, 3, 300)
    rows = torch.tensor(rng.normal(size=(3, 6))[labels], dtype=torch.float32)
    rows = rows + 0.1 * torch.randn(300, 6)
    random_labels = rng.permutation(labels)
    train(rows, torch.from_numpy(random_labels))


by_frames()
by_one_order()
control()
