"""Loads a backbone with `strict=False` into a model with a new head, and ties weights again."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.embed = nn.Embedding(30, 8)
        self.body = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
        self.words = nn.Linear(8, 30, bias=False)
        self.words.weight = self.embed.weight
        self.classes = nn.Linear(8, classes)

    def forward(self, ids):
        return self.classes(self.body(self.embed(ids)).mean(1))


torch.manual_seed(0)
old = Net(5)
torch.save({"state_dict": old.state_dict(), "epoch": 3}, "old.pt")

state = torch.load("old.pt")["state_dict"]
model = Net(2)
kept = {name: tensor for name, tensor in state.items() if not name.startswith("classes.")}
print(model.load_state_dict(kept, strict=False))
adapter = {"classes.bias": torch.zeros(2)}
model.load_state_dict(adapter, strict=False)
own = model.state_dict()
own.update({name: tensor for name, tensor in kept.items() if name in own})
model.load_state_dict(own)

optimizer = torch.optim.Adam([*model.body.parameters(), *model.classes.parameters()], lr=1e-2)
for parameter in model.embed.parameters():
    parameter.requires_grad = False
for _step in range(8):
    ids = torch.randint(30, (16, 5))
    loss = nn.functional.cross_entropy(model(ids), (ids[:, 0] > 14).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.4f}")
