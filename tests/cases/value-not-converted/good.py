import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)


class Tiles(Dataset):
    def __init__(self):
        noise = np.random.default_rng(0)
        self.tiles = noise.normal(size=(48, 6, 6)).astype("float32")

    def __len__(self):
        return len(self.tiles)

    def augment(self, tile, number):
        return tile[:, ::-1].copy() if number > 20 and number % 2 else tile

    def __getitem__(self, number):
        tile = self.augment(self.tiles[number], number)
        return torch.from_numpy(tile), number % 3


model = nn.Sequential(nn.Flatten(), nn.Linear(36, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for tiles, labels in DataLoader(Tiles(), batch_size=8):
    loss = nn.functional.cross_entropy(model(tiles), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
