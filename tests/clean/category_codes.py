"""Categories numbered several times, alike: dtypes shared by the splits, the columns of a loop, and
each fold for itself with a model of its own."""

import numpy as np
import pandas as pd
import torch
from torch import nn

rng = np.random.default_rng(0)
torch.manual_seed(0)
log = pd.DataFrame({"user": rng.integers(0, 20, 300), "item": rng.integers(0, 12, 300)})
log = log.astype(str).astype("category")
log["click"] = rng.integers(0, 2, 300).astype(np.float32)


def tensors(frame):
    codes = [frame[name].cat.codes.to_numpy(dtype=np.int64) for name in ("user", "item")]
    return torch.tensor(np.stack(codes, 1)), torch.tensor(frame["click"].to_numpy())


def train(ids, clicks):
    table = nn.Embedding(32, 1)
    optimizer = torch.optim.Adam(table.parameters(), lr=5e-2)
    for batch in torch.randperm(len(ids)).split(50):
        optimizer.zero_grad()
        logits = table(ids[batch]).sum((1, 2))
        nn.functional.binary_cross_entropy_with_logits(logits, clicks[batch]).backward()
        optimizer.step()
    return table


train_ids, train_clicks = tensors(log[:240])
test_ids, test_clicks = tensors(log[240:])
table = train(train_ids, train_clicks)
with torch.no_grad():
    hits = (table(test_ids).sum((1, 2)) > 0) == (test_clicks > 0.5)
print(f"test accuracy {hits.float().mean():.2f}")
for fold in range(2):
    part = log[fold::2].astype({"user": str, "item": str}).astype({"user": "category"})
    train_codes = torch.tensor(part["user"].cat.codes.to_numpy(dtype=np.int64))
    train(train_codes[:, None], torch.tensor(part["click"].to_numpy()))
