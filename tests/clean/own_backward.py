"""A function with a backward of its own: gradients that were broadcast, and None for a number."""

import torch
from torch import nn


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, gain, bits):
        ctx.save_for_backward(x, gain, None)
        ctx.steps = 2**bits
        return (x * gain * ctx.steps).round() / ctx.steps

    @staticmethod
    def backward(ctx, gradient):
        x, gain, _ = ctx.saved_tensors
        return gradient * gain, gradient * x, None, None


class Layer(nn.Linear):
    def __init__(self, inputs, outputs):
        super().__init__(inputs, outputs)
        self.gain = nn.Parameter(torch.ones(outputs))

    def forward(self, x):
        return Scaled.apply(super().forward(x), self.gain, 6)


torch.manual_seed(0)
x = torch.randn(64, 6)
y = (x[:, 0] > x[:, 1]).long()
model = Layer(6, 2)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(10):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
