"""Trains a small language model for a few steps on a device without memory, to check the shapes."""

import torch
from torch import nn

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "meta")
WORDS, LENGTH, WIDTH = 200, 24, 32


class CausalMixer(nn.Module):
    """Every place is the weighted mean of the places before it."""

    def __init__(self, width, longest):
        super().__init__()
        self.score = nn.Linear(width, width)
        self.register_buffer("later", torch.triu(torch.ones(longest, longest), diagonal=1).bool())

    def forward(self, hidden):
        length = hidden.shape[1]
        scores = self.score(hidden) @ hidden.transpose(1, 2)
        scores = scores.masked_fill(self.later[:length, :length], float("-inf"))
        return scores.softmax(-1) @ hidden


class LanguageModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.mixer = CausalMixer(WIDTH, 64)
        self.head = nn.Linear(WIDTH, WORDS)

    def forward(self, ids):
        return self.head(self.mixer(self.words(ids)))


def main():
    model = LanguageModel().to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(4):
        ids = torch.randint(0, WORDS, (8, LENGTH + 1), device=DEVICE)
        logits = model(ids[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("four steps on", DEVICE)


main()
