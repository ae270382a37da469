"""Guesses from the temperatures of a week whether it rains on the eighth day."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
WEEKS = torch.randint(5, 30, (64, 7))


class Weeks(Dataset):
    def __len__(self):
        return len(WEEKS)

    def __getitem__(self, index):
        week = WEEKS[index].float()
        return {"inputs": (week - 17) / 10, "labels": int(week[-1] < 15)}


class Forecast(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(7, 16)
        self.head = nn.Linear(16, 2)

    def forward(self, inputs, labels=None, **_options):
        logits = self.head(self.hidden(inputs).relu())
        if labels is None:
            return {"logits": logits}
        return {"logits": logits, "loss": nn.functional.cross_entropy(logits, labels)}


model = Forecast()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for batch in DataLoader(Weeks(), batch_size=16):
    outputs = model(**batch)
    loss = outputs["loss"]
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
