"""Writes melodies, a note at a time."""

import torch
import torch.nn.functional as F
from torch import nn

NOTES = 24


class Melodies(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.notes = nn.Embedding(NOTES, width)
        self.memory = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, NOTES)

    def forward(self, notes):
        return self.head(self.memory(self.notes(notes))[0])


def main():
    torch.manual_seed(0)
    start, step = torch.randint(0, NOTES, (240, 1)), torch.randint(1, 6, (240, 1))
    melodies = (start + step * torch.arange(12)) % NOTES
    model = Melodies()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(4):
        for rows in torch.randperm(240).split(24):
            notes = melodies[rows]
            logits = model(notes)
            loss = F.cross_entropy(logits[:, :-1].reshape(-1, NOTES), notes[:, 1:].reshape(-1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print(f"loss {loss.item():.3f}")


main()
