"""Fits a curve with a few small layers, one behind the other."""

from itertools import pairwise

import torch
from torch import nn


class Curve(nn.Module):
    def __init__(self, widths):
        super().__init__()
        self.steps = [nn.Linear(one, other) for one, other in pairwise(widths)]

    def forward(self, x):
        for step in self.steps[:-1]:
            x = torch.tanh(step(x))
        return self.steps[-1](x)


def main():
    torch.manual_seed(0)
    model = Curve([1, 12, 12, 1])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    x = torch.linspace(-2, 2, 40).unsqueeze(1)
    for _ in range(6):
        loss = nn.functional.mse_loss(model(x), torch.sin(x))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


main()
