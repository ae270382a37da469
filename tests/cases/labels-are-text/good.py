"""Tells birds from bats by their size and weight."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
SEEN = [([12.0, 30.0], "bird"), ([5.0, 8.0], "bat"), ([15.0, 45.0], "bird")] * 8
NUMBERS = {"bat": 0, "bird": 1}


class Animals(Dataset):
    def __len__(self):
        return len(SEEN)

    def __getitem__(self, index):
        sizes, kind = SEEN[index]
        return {"sizes": sizes, "label": NUMBERS[kind]}


def stacked(rows):
    return {key: torch.tensor([row[key] for row in rows]) for key in rows[0]}


model = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 2))
optimizer = torch.optim.Adam(model.parameters())
for batch in DataLoader(Animals(), batch_size=8, collate_fn=stacked):
    loss = nn.functional.cross_entropy(model(batch["sizes"]), batch["label"])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
