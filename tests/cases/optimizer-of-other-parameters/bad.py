"""The body is frozen for the second part; the optimizer's state of the first part is loaded."""

import torch
from torch import nn


def train(model, optimizer):
    for _ in range(4):
        x = torch.randn(16, 8)
        loss = nn.functional.cross_entropy(model(x), (x[:, 0] > 0).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
print(f"all layers: loss {train(model, optimizer):.3f}")
saved = optimizer.state_dict()

for parameter in model[0].parameters():
    parameter.requires_grad = False
optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=1e-3)
optimizer.load_state_dict(saved)
print(f"last layer: loss {train(model, optimizer):.3f}")
