"""Learns which of four drinks each guest orders, from the score of the one that was ordered."""

import torch
from torch import nn

GUESTS, TRAITS, DRINKS = 48, 6, 4


def ordered(log_probabilities, choices):
    chosen = log_probabilities.gather(1, choices)
    return chosen


def main():
    torch.manual_seed(0)
    traits = torch.randn(GUESTS, TRAITS)
    choices = traits[:, :DRINKS].argmax(1)
    model = nn.Linear(TRAITS, DRINKS)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for first in range(0, GUESTS, 12):
        rows = slice(first, first + 12)
        scores = model(traits[rows]).log_softmax(1)
        loss = -ordered(scores, choices[rows]).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


main()
