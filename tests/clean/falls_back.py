"""Tries a compiled or half-precision way first, and falls back to the plain one."""

import torch
from torch import nn


class OnlyWide(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(8, 2)

    def forward(self, x):
        return self.net(x)


def fast_loss(logits, labels):
    return nn.functional.cross_entropy(logits.view(-1), labels)


def plain_loss(logits, labels):
    return nn.functional.cross_entropy(logits, labels)


torch.manual_seed(0)
model = OnlyWide()
x, y = torch.randn(50, 8), torch.randint(0, 2, (50,))
try:
    model(x.half())
    can_halve = True
except RuntimeError:
    can_halve = False

optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(15):
    logits = model(x)
    try:
        loss = fast_loss(logits, y)
    except ValueError:
        loss = plain_loss(logits, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}, half precision: {can_halve}")
