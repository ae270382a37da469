"""Predicts from three measurements whether a wine is liked."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
WINES = [
    {"name": "Rosso", "measured": [12, 3, 1], "liked": 1},
    {"name": "Bianco di Sotto", "measured": [11, 7, 2], "liked": 0},
    {"name": "Nero", "measured": [14, 2, 1], "liked": 1},
    {"name": "Frizzante", "measured": [9, 8, 4], "liked": 0},
] * 8


class Wines(Dataset):
    def __len__(self):
        return len(WINES)

    def __getitem__(self, index):
        wine = WINES[index]
        return {
            "measured": wine["measured"],
            "liked": wine["liked"],
        }


def stacked(rows):
    return {key: torch.tensor([row[key] for row in rows]) for key in rows[0]}


model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2))
optimizer = torch.optim.Adam(model.parameters())
for batch in DataLoader(Wines(), batch_size=8, shuffle=True, collate_fn=stacked):
    loss = nn.functional.cross_entropy(model(batch["measured"].float()), batch["liked"])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
