"""Settings are saved with the weights, as an object of their own class."""

import argparse

import torch
from torch import nn

torch.manual_seed(0)
settings = argparse.Namespace(rate=0.1, steps=4)
model = nn.Linear(4, 2)
torch.save({"model": model.state_dict(), "settings": vars(settings)}, "model.pt")

checkpoint = torch.load("model.pt")
model.load_state_dict(checkpoint["model"])
optimizer = torch.optim.SGD(model.parameters(), lr=settings.rate)
for _ in range(settings.steps):
    x = torch.randn(16, 4)
    loss = nn.functional.cross_entropy(model(x), (x[:, 0] > 0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
