"""Moves its weights itself, without any optimizer."""

import torch

torch.manual_seed(0)
weight = torch.zeros(4, 1, requires_grad=True)
bias = torch.zeros(1, requires_grad=True)
x = torch.randn(100, 4)
y = x.sum(dim=1, keepdim=True) - 2
for _ in range(60):
    loss = ((x @ weight + bias - y) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        for one in (weight, bias):
            one -= 0.1 * one.grad
            one.grad = None
print(f"loss {loss.item():.2e}")
