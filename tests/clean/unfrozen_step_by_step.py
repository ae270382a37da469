"""Progressive unfreezing: two optimizers, of which one has nothing to do in the first phase."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 4)
y = x.sum(1, keepdim=True)
body, head = nn.Linear(4, 16), nn.Linear(16, 1)
slow = torch.optim.SGD(body.parameters(), lr=1e-2)
fast = torch.optim.Adam(head.parameters(), lr=1e-2)
body.requires_grad_(False)
for step in range(24):
    if step == 16:
        body.requires_grad_(True)
    empty = torch.zeros((), requires_grad=True)
    loss = nn.functional.mse_loss(head(torch.tanh(body(x))), y) if step % 5 else empty
    for optimizer in (slow, fast):
        optimizer.zero_grad()
    loss.backward()
    for optimizer in (slow, fast):
        optimizer.step()
print(f"loss {loss.item():.4f}")
