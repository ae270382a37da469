"""Trains in bfloat16 with a rate that begins at zero and is large enough in the end."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 1)).to(torch.bfloat16)
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
warmup = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, step / 6))
x = torch.randn(64, 16, dtype=torch.bfloat16)
y = x.mean(dim=1, keepdim=True)
for _ in range(40):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    warmup.step()
print(f"loss {loss.item():.4f}")
