"""Tells two kinds of sentences apart: attention with several heads, and padding to be hidden."""

import torch
from torch import nn

WORDS, WIDTH, HEADS = 80, 24, 3


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.all = nn.Linear(WIDTH, 3 * WIDTH)

    def forward(self, x, real):
        rows, places, _ = x.shape
        parts = self.all(x).view(rows, places, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        asked, answers, told = parts
        scores = asked @ answers.transpose(-2, -1)
        weights = scores.masked_fill(~real, float("-inf")).softmax(-1)
        return (weights @ told).transpose(1, 2).reshape(rows, places, WIDTH)


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH, padding_idx=0)
        self.attention = Attention()
        self.kind = nn.Linear(WIDTH, 2)

    def forward(self, ids):
        real = ids != 0
        return self.kind(self.attention(self.words(ids), real)[:, 0])


def main():
    torch.manual_seed(0)
    model = Reader()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(4):
        ids = torch.randint(1, WORDS, (8, 11))
        ids[:, 7:] = 0
        loss = nn.functional.cross_entropy(model(ids), ids[:, 0] % 2)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


main()
