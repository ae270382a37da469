"""Scores pairs of sentences by the cosine of their averaged word vectors."""

import torch
from torch import nn


class Scorer(nn.Module):
    def __init__(self, words, width):
        super().__init__()
        self.left = nn.EmbeddingBag(words, width)
        self.right = nn.EmbeddingBag(words, width)
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, left, right):
        first = self.left(left)
        second = self.right(right)
        return (first * second * self.scale).sum(1)


def main():
    torch.manual_seed(0)
    model = Scorer(words=100, width=12)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        left, right = torch.randint(0, 100, (2, 5, 7))
        loss = (1 - model(left, right)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"loss {loss.item():.4f}")


main()
