"""A checkpoint of model, optimizer and epoch; training goes on from it."""

import torch
from torch import nn


def build():
    return nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 3))


def train(model, optimizer, steps):
    for _ in range(steps):
        x = torch.randn(32, 6)
        loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


torch.manual_seed(0)
model = build()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
print(f"loss {train(model, optimizer, 5):.3f}")
torch.save({"epoch": 1, "net": model.state_dict(), "optimizer": optimizer.state_dict()}, "last.pt")

checkpoint = torch.load("last.pt")
again = build()
again.load_state_dict(checkpoint["net"])
optimizer = torch.optim.Adam(again.parameters(), lr=1e-2)
print(f"loss {train(again, optimizer, 5):.3f}")
