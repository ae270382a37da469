"""Learns to continue texts of twelve tokens; the first eight are given."""

import torch
import torch.nn.functional as F
from torch import nn

TOKENS, GIVEN, LONGEST = 40, 8, 12


def labels_of(rows):
    labels = rows.clone()
    labels[:, :GIVEN] = -100
    return labels


def main():
    torch.manual_seed(0)
    rows = torch.randint(0, TOKENS, (240, 12))[:, :LONGEST]
    model = nn.Sequential(nn.Embedding(TOKENS, 32), nn.Linear(32, TOKENS))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    for part in rows.split(24):
        logits = model(part)[:, :-1]
        loss = F.cross_entropy(logits.flatten(0, 1), labels_of(part)[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


main()
