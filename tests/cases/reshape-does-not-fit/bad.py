"""Sorts pictures of 24 by 24 pixels with a network that was written for 28 by 28."""

import torch
import torch.nn.functional as F
from torch import nn


class Sorter(nn.Module):
    def __init__(self, kinds=4):
        super().__init__()
        self.first = nn.Conv2d(1, 8, 3, padding=1)
        self.second = nn.Conv2d(8, 16, 3, padding=1)
        self.head = nn.Linear(16 * 7 * 7, kinds)

    def forward(self, pictures):
        hidden = F.max_pool2d(F.relu(self.first(pictures)), 2)
        hidden = F.max_pool2d(F.relu(self.second(hidden)), 2)
        rows = len(pictures)
        return self.head(hidden.view(rows, 16 * 7 * 7))


def main():
    torch.manual_seed(0)
    model = Sorter()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(4):
        loss = F.cross_entropy(model(torch.rand(6, 1, 24, 24)), torch.randint(0, 4, (6,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


main()
