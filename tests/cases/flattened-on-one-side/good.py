"""A small language model: each place guesses the next letter."""

import torch
from torch import nn
from torch.nn.functional import cross_entropy

LETTERS = 27


class Letters(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(LETTERS, 16)
        self.guess = nn.Linear(16, LETTERS)

    def forward(self, letters):
        return self.guess(self.embed(letters))


def loss_of(model, text):
    logits = model(text[:, :-1])
    return cross_entropy(logits.flatten(0, 1), text[:, 1:].reshape(-1))


torch.manual_seed(0)
model = Letters()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

for _step in range(5):
    loss = loss_of(model, torch.randint(0, LETTERS, (8, 31)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
