"""A small U-Net that cleans up noisy pictures of 44 by 60 pixels."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

SIZE = (44, 60)


class Pictures(Dataset):
    def __init__(self, count=24):
        source = torch.Generator().manual_seed(0)
        self.clean = torch.rand(count, 1, *SIZE, generator=source)

    def __len__(self):
        return len(self.clean)

    def __getitem__(self, which):
        clean = self.clean[which]
        return clean + 0.1 * torch.randn_like(clean), clean


class Up(nn.Module):
    def __init__(self, below, beside, out):
        super().__init__()
        self.grow = nn.ConvTranspose2d(below, out, 2, stride=2)
        self.mix = nn.Conv2d(out + beside, out, 3, padding=1)

    def forward(self, below, beside):
        grown = self.grow(below)
        return F.relu(self.mix(torch.cat([beside, grown], dim=1)))


class Cleaner(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(1, 8, 3, padding=1)
        self.down = nn.ModuleList(nn.Conv2d(8 * 2**n, 16 * 2**n, 3, padding=1) for n in range(3))
        self.up = nn.ModuleList(Up(16 * 2**n, 8 * 2**n, 8 * 2**n) for n in (2, 1, 0))
        self.last = nn.Conv2d(8, 1, 1)

    def forward(self, picture):
        maps = [F.relu(self.first(picture))]
        for layer in self.down:
            maps.append(F.relu(layer(F.max_pool2d(maps[-1], 2))))
        hidden = maps.pop()
        for layer in self.up:
            hidden = layer(hidden, maps.pop())
        return self.last(hidden)


def main():
    torch.manual_seed(0)
    model = Cleaner()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for noisy, clean in DataLoader(Pictures(), batch_size=4, shuffle=True):
        loss = F.mse_loss(model(noisy), clean)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


main()
