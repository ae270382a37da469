"""A plain loop: dropout, two optimizers, a schedule, clipping, evaluation, a handled exception."""

import random
import sys

import ending
import torch
from torch import nn

ending.seed()
print(sys.argv[1:], __name__, __file__.rsplit("/", 1)[-1])

model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 3))
optimizer = torch.optim.AdamW(model[0].parameters(), lr=1e-2)
other = torch.optim.SGD(model[3].parameters(), lr=1e-1, momentum=0.9)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 30)
rows = torch.randn(120, 8)
labels = (rows[:, 0] > 0).long() + (rows[:, 1] > 0).long()

for step in range(30):
    picked = torch.tensor(random.sample(range(120), 16))
    loss = nn.functional.cross_entropy(model(rows[picked]), labels[picked])
    optimizer.zero_grad()
    other.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    other.step()
    schedule.step()
    try:
        note = {"5": "five", "10": "ten"}[str(step)]
    except KeyError:
        note = ""
    print(step, loss.item(), note)

model.eval()
with torch.no_grad():
    print("right", (model(rows).argmax(1) == labels).sum().item())
ending.tell(model)
