"""Reports every error in its own words and ends; this time there is none."""

import sys

import torch
from torch import nn


def main():
    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    x, y = torch.randn(30, 3), torch.randn(30, 1)
    for _ in range(10):
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.4f}")


try:
    main()
except KeyboardInterrupt:
    print("stopped")
except Exception as error:
    print(f"failed: {error}")
    sys.exit(1)
