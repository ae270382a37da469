"""Compresses standardised measurements to four numbers and back."""

import torch
from torch import nn


def main():
    torch.manual_seed(0)
    measured = torch.randn(320, 4) @ torch.randn(4, 16)
    measured = (measured - measured.mean(0)) / measured.std(0)
    model = nn.Sequential(nn.Linear(16, 4), nn.Tanh(), nn.Linear(4, 16), nn.Sigmoid())
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(4):
        for rows in measured[torch.randperm(320)].split(32):
            loss = nn.functional.mse_loss(model(rows), rows)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print(f"loss {loss.item():.3f}")


main()
