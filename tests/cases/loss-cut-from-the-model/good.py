"""Three heads on one trunk, each with a loss of its own, trained on their mean."""

import torch
from torch import nn

torch.manual_seed(0)
trunk = nn.Sequential(nn.Linear(8, 16), nn.Tanh())
heads = nn.ModuleList(nn.Linear(16, classes) for classes in (2, 3, 5))
optimizer = torch.optim.SGD([*trunk.parameters(), *heads.parameters()], lr=0.1)

for _ in range(6):
    rows = torch.randn(20, 8)
    hidden = trunk(rows)
    losses = []
    for head in heads:
        wanted = torch.randint(0, head.out_features, (20,))
        losses.append(nn.functional.cross_entropy(head(hidden), wanted))
    loss = torch.stack(losses).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
