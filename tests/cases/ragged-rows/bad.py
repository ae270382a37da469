"""Learns from the notes of a tune whether it is in a major or a minor key."""

import random

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

random.seed(1)
torch.manual_seed(1)


class Tunes(Dataset):
    def __init__(self, count):
        self.tunes = [random.choices(range(1, 40), k=random.randint(5, 30)) for _ in range(count)]

    def __len__(self):
        return len(self.tunes)

    def __getitem__(self, index):
        notes = self.tunes[index]
        return torch.tensor(notes), notes[-1] % 2


class Key(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(40, 16, padding_idx=0)
        self.head = nn.Linear(16, 2)

    def forward(self, notes):
        return self.head(self.embed(notes).sum(1))


def train():
    model = Key()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    loader = DataLoader(Tunes(64), batch_size=8, shuffle=True)
    for notes, key in loader:
        loss = nn.functional.cross_entropy(model(notes), key)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


train()
