"""Tells morning birds from night birds by the notes of their songs."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

NOTES = 24


class Songs(Dataset):
    def __init__(self, count):
        self.songs = [[(bird * 7 + beat * 5) % NOTES for beat in range(9)] for bird in range(count)]

    def __len__(self):
        return len(self.songs)

    def __getitem__(self, bird):
        return torch.tensor(self.songs[bird]), bird % 2


class Listener(nn.Module):
    def __init__(self):
        super().__init__()
        self.notes = nn.Embedding(NOTES, 12)
        self.kind = nn.Linear(12, 2)

    def forward(self, song):
        return self.kind(self.notes(song).mean(1))


def main():
    torch.manual_seed(0)
    model = Listener()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for song, kind in DataLoader(Songs(40), batch_size=8):
        loss = nn.functional.cross_entropy(model(song), kind)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


main()
