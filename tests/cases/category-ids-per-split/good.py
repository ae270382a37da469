import numpy as np
import pandas as pd
import torch
from torch import nn

rng = np.random.default_rng(0)
users = rng.integers(0, 30, 900)
log = pd.DataFrame({"user": [f"user_{number:02d}" for number in users]})
log["click"] = (rng.random(900) < rng.random(30)[users]).astype(np.float32)


def tensors(frame):
    codes = frame["user"].astype("category").cat.codes
    return torch.tensor(codes.to_numpy(dtype=np.int64)), torch.tensor(frame["click"].to_numpy())


torch.manual_seed(0)
log = log.astype({"user": "category"})
train, test = log[:800], log[800:][users[800:] > 4]
train_ids, train_clicks = tensors(train)
test_ids, test_clicks = tensors(test)
table = nn.Embedding(30, 1)
optimizer = torch.optim.Adam(table.parameters(), lr=5e-2)
for epoch in range(4):
    for batch in torch.randperm(800).split(80):
        optimizer.zero_grad()
        logits = table(train_ids[batch]).squeeze(1)
        nn.functional.binary_cross_entropy_with_logits(logits, train_clicks[batch]).backward()
        optimizer.step()
with torch.no_grad():
    hits = (table(test_ids).squeeze(1) > 0) == (test_clicks > 0.5)
print(f"test accuracy {hits.float().mean():.2f}")
