"""Computes in bfloat16 and keeps the weights that the optimizer moves in float32."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(12, 1).bfloat16()
masters = [one.detach().float().clone().requires_grad_() for one in model.parameters()]
optimizer = torch.optim.AdamW(masters, lr=1e-5)
x = torch.randn(48, 12, dtype=torch.bfloat16)
y = x.sum(dim=1, keepdim=True)
for _ in range(30):
    loss = nn.functional.mse_loss(model(x), y)
    model.zero_grad()
    loss.backward()
    for master, one in zip(masters, model.parameters(), strict=True):
        master.grad = one.grad.float()
    optimizer.step()
    with torch.no_grad():
        for master, one in zip(masters, model.parameters(), strict=True):
            one.copy_(master)
print(f"loss {loss.item():.4f}")
