"""Trains a next-token model and prints its perplexity on held-out text after every epoch."""

import math

import torch
from torch import nn

torch.manual_seed(0)
train = torch.randint(0, 100, (8, 16, 12))
held_out = torch.randint(0, 100, (4, 16, 12))

embed = nn.Embedding(100, 32)
head = nn.Linear(32, 100)
optimizer = torch.optim.AdamW([*embed.parameters(), *head.parameters()], lr=1e-2)


def next_token_loss(tokens):
    logits = head(embed(tokens[:, :-1]))
    return nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())


def perplexity():
    with torch.no_grad():
        return math.exp(sum(next_token_loss(batch).item() for batch in held_out) / 4)


for epoch in range(12):
    for batch in train:
        loss = next_token_loss(batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch + 1}: loss {loss.item():.3f}, held-out perplexity {perplexity():.1f}")
