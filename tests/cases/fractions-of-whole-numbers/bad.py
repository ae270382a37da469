"""Tells ripe plums from green ones, and counts how often it is right."""

import torch
from torch import nn


def main():
    torch.manual_seed(0)
    plums = torch.randn(48, 4)
    ripe = (plums[:, 0] + plums[:, 1] > 0).long()
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for first in range(0, 48, 12):
        rows = slice(first, first + 12)
        scores = model(plums[rows])
        loss = nn.functional.cross_entropy(scores, ripe[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        right = (scores.argmax(1) == ripe[rows]).mean()
        print(f"loss {loss.item():.3f}, right {right:.2f}")


main()
