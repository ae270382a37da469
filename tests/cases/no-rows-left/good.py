"""Tells ripe fruit from unripe by colour; the table says which rows are for training."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Fruit(Dataset):
    def __init__(self, table, part):
        self.rows = [row for row in table if row["part"] == part]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, number):
        row = self.rows[number]
        return torch.tensor(row["colour"]), row["ripe"]


table = [
    {"part": "Train" if at % 4 else "Test", "colour": [at % 3 / 3, at % 5 / 5], "ripe": at % 2}
    for at in range(48)
]
torch.manual_seed(0)
loader = DataLoader(Fruit(table, "Train"), batch_size=8, shuffle=True)
model = nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for colours, ripe in loader:
    loss = nn.functional.cross_entropy(model(colours), ripe)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
