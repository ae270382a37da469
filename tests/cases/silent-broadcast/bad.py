"""Learns the price of a house from six measurements."""

import torch
from torch import nn


def main():
    torch.manual_seed(0)
    measured = torch.randn(256, 6)
    prices = measured @ torch.tensor([2.0, -1.0, 0.5, 3.0, 0.0, 1.0])
    model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(10):
        for rows in torch.randperm(256).split(32):
            guessed = model(measured[rows])
            loss = ((guessed - prices[rows]) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print(f"loss {loss.item():.3f}")


main()
