"""Weighs rows of a dataset; the weights are left out when it is made to give tensors."""

import torch
from datasets import Dataset
from torch import nn
from torch.utils.data import DataLoader

torch.manual_seed(0)
rows = Dataset.from_dict(
    {
        "heights": [[float(at % 3), float(at % 5)] for at in range(24)],
        "species": [at % 2 for at in range(24)],
        "weight": [1.0 if at % 2 else 0.5 for at in range(24)],
    }
)
rows = rows.with_format("torch", columns=["heights", "species", "weight"])
model = nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for batch in DataLoader(rows, batch_size=6):
    scores = model(batch["heights"])
    losses = nn.functional.cross_entropy(scores, batch["species"], reduction="none")
    loss = (losses * batch["weight"]).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
