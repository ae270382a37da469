"""Trains weights that are rounded to a few bits, with a straight-through gradient."""

import torch
from torch import nn


class RoundedWeights(torch.autograd.Function):
    @staticmethod
    def forward(ctx, weight, bits):
        ctx.save_for_backward(weight)
        steps = 2**bits - 1
        return (weight.clamp(-1, 1) * steps).round() / steps

    @staticmethod
    def backward(ctx, gradient):
        (weight,) = ctx.saved_tensors
        return gradient * (weight.abs() <= 1)


class RoundedLinear(nn.Linear):
    def forward(self, x):
        return nn.functional.linear(x, RoundedWeights.apply(self.weight, 4), self.bias)


torch.manual_seed(0)
x = torch.randn(64, 6)
y = (x[:, 0] > x[:, 1]).long()
model = nn.Sequential(RoundedLinear(6, 8), nn.ReLU(), nn.Linear(8, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(10):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step}: loss {loss.item():.4f}")
