"""A classifier of sounds, with one column for each kind of sound in the labels."""

import torch
from torch import nn
from torch.nn.functional import cross_entropy

KINDS = ["bird", "rain", "engine", "voice"]


def recordings(count):
    """Features, and a row of zeros with a single one for each of them."""
    kinds = torch.randint(0, len(KINDS), (count,))
    marks = torch.zeros(count, len(KINDS), dtype=torch.long)
    marks[torch.arange(count), kinds] = 1
    return torch.randn(count, 8) + kinds[:, None], marks


torch.manual_seed(0)
sounds, marks = recordings(64)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, len(KINDS)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for begin in range(0, 64, 8):
    x, y = sounds[begin : begin + 8], marks[begin : begin + 8]
    logits = model(x)
    loss = cross_entropy(logits.view(-1, len(KINDS)), y.view(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
