"""Grades essays by two numbers of each; a few were never graded."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

GRADES = {"a": 0, "b": 1, "c": 2}


class Essays(Dataset):
    def __init__(self, count=48):
        self.numbers = torch.randn(count, 2)
        self.letters = ["abc"[at % 3] if at % 20 != 13 else "?" for at in range(count)]

    def __len__(self):
        return len(self.letters)

    def __getitem__(self, at):
        return {"numbers": self.numbers[at], "grade": GRADES.get(self.letters[at], -100)}


torch.manual_seed(0)
loader = DataLoader(Essays(), batch_size=8)
model = nn.Linear(2, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for batch in loader:
    loss = nn.functional.cross_entropy(model(batch["numbers"]), batch["grade"])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
