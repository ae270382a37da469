"""Rows mapped by functions that catch exceptions, kept in a cache, and read twice."""

import tempfile
from pathlib import Path

import ending
import torch
from datasets import Dataset, disable_progress_bars
from datasets.fingerprint import Hasher
from torch import nn

disable_progress_bars()
ending.seed()
FACTOR = 2.0


def parsed(row: dict[str, str]) -> dict[str, float]:
    try:
        value = float(row["text"]) * FACTOR
    except ValueError:
        value = 0.0
    return {"value": value}


def short(row: dict[str, float]) -> bool:
    try:
        return row["value"] < 50
    except TypeError:
        return False


one, two = lambda row: row["value"] > 1, lambda row: row["value"] > 2
rows = Dataset.from_dict({"text": [*map(str, range(30)), "none"]})
with tempfile.TemporaryDirectory() as folder:
    cache = Path(folder) / "rows.arrow"
    first = rows.map(parsed, cache_file_name=str(cache))
    changed = cache.stat().st_mtime_ns
    again = rows.map(parsed, cache_file_name=str(cache))
    print("read again", changed == cache.stat().st_mtime_ns)
kept = again.filter(short, keep_in_memory=True)
print([Hasher.hash(function) for function in (parsed, short, one, two)])
print([table._fingerprint for table in (rows, first, again, kept, kept.filter(two))])

model = nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
for start in range(0, len(kept), 5):
    batch = torch.tensor(kept[start : start + 5]["value"])[:, None]
    loss = (model(batch) - batch).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
ending.tell(model)
