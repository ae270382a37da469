"""Halves the batch until a step fits into memory, as scripts for unknown machines do."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(32, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
x, y = torch.randn(256, 32), torch.randn(256, 1)


def step(rows):
    loss = nn.functional.mse_loss(model(x[:rows]), y[:rows])
    if rows > 64:
        raise torch.OutOfMemoryError("tried to allocate more than there is")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


batch = 256
while True:
    try:
        loss = step(batch)
        break
    except torch.OutOfMemoryError:
        batch //= 2
for _ in range(10):
    loss = step(batch)
print(f"batch {batch}, loss {loss:.4f}")
