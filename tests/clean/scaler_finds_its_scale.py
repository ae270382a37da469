"""A gradient scaler begins too high and skips its first steps; a guard counts bad batches."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 4)
y = 100 * x.sum(1, keepdim=True)
model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**127)
guarded = 0
for step in range(40):
    optimizer.zero_grad()
    rows = x if step % 10 else x / 0
    loss = nn.functional.mse_loss(model(rows), y)
    if not torch.isfinite(loss):
        guarded += 1
        continue
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
print(f"loss {loss.item():.4f}, {guarded} batches left out")
