"""Classifies recordings by their loudest second; those that are too short are left out."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

SECOND = 16


class Recordings(Dataset):
    def __init__(self, count=64):
        chance = torch.Generator().manual_seed(1)
        lengths = torch.randint(14, 60, (count,), generator=chance).tolist()
        self.sounds = [torch.randn(length, generator=chance) for length in lengths]
        self.species = torch.randint(0, 3, (count,), generator=chance)
        self.long_enough = [at for at in range(count) if lengths[at] >= SECOND]

    def __len__(self):
        return len(self.long_enough)

    def __getitem__(self, at):
        number = self.long_enough[at]
        sound = self.sounds[number]
        seconds = sound.unfold(0, SECOND, SECOND)
        return seconds[seconds.abs().mean(1).argmax()], self.species[number]


def train(model, loader, epochs=2):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(epochs):
        for sounds, species in loader:
            loss = nn.functional.cross_entropy(model(sounds), species)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    torch.manual_seed(0)
    loader = DataLoader(Recordings(), batch_size=8, shuffle=True)
    train(nn.Sequential(nn.Linear(SECOND, 16), nn.ReLU(), nn.Linear(16, 3)), loader)
