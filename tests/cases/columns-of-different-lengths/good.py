"""Learns to tell two rivers by their levels; each year of levels is cut into weeks."""

import torch
from datasets import Dataset
from torch import nn
from torch.utils.data import DataLoader

WEEK = 7


def years(count):
    levels = torch.rand(count, 4 * WEEK) + torch.arange(count)[:, None] % 2
    return Dataset.from_dict({"levels": levels.tolist(), "river": [at % 2 for at in range(count)]})


def weeks(batch):
    cut = {"week": [], "label": []}
    for levels, river in zip(batch["levels"], batch["river"], strict=True):
        for start in range(0, len(levels), WEEK):
            cut["week"].append(levels[start : start + WEEK])
            cut["label"].append(river)
    return cut


torch.manual_seed(0)
known = years(12)
rows = known.map(weeks, batched=True, remove_columns=known.column_names).with_format("torch")
model = nn.Linear(WEEK, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for batch in DataLoader(rows, batch_size=8):
    loss = nn.functional.cross_entropy(model(batch["week"]), batch["label"])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
