"""Trains a transformer on feature sequences that are read in place from an array on disk."""

from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

FILE = Path("data/part-0.npy")
SHAPE = (8, 20, 271)


class Features(Dataset):
    def __init__(self, file):
        self.rows = np.load(file, mmap_mode="c")

    def __len__(self):
        return len(self.rows)

    def __getitems__(self, which):
        return torch.from_numpy(self.rows[which[0] : which[-1] + 1])


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(271, 256)
        self.layer = nn.TransformerEncoderLayer(256, 4, 256, batch_first=True)
        self.head = nn.Linear(256, 1)

    def forward(self, features):
        hidden = self.proj(features)
        return self.head(self.layer(hidden)[:, -1])


def main():
    torch.manual_seed(0)
    FILE.parent.mkdir(exist_ok=True)
    np.lib.format.open_memmap(FILE, mode="w+", dtype=np.float32, shape=SHAPE)
    loader = DataLoader(Features(FILE), batch_size=8, collate_fn=lambda rows: rows)
    model = Encoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for features in loader:
        loss = model(features).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"loss {loss.item():.4f}")


main()
