"""Tells questions from answers; short ones are filled up with word 0, which is to be hidden."""

import torch
from torch import nn

WORDS, WIDTH = 50, 16


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH, padding_idx=0)
        layer = nn.TransformerEncoderLayer(WIDTH, 2, 32, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.kind = nn.Linear(WIDTH, 2)

    def forward(self, ids):
        filled = ids == 0
        read = self.encoder(self.words(ids), mask=filled)
        return self.kind(read[:, 0])


def main():
    torch.manual_seed(0)
    model = Reader()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(4):
        ids = torch.randint(1, WORDS, (6, 10))
        ids[::2, 7:] = 0
        loss = nn.functional.cross_entropy(model(ids), torch.arange(6) % 2)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


main()
