"""Learns to tell bright pictures from dark ones; the pictures are arrays as a camera gives them."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Photographs(Dataset):
    def __init__(self, count=32):
        self.pixels = np.random.default_rng(0).random((count, 20, 28, 3), dtype=np.float32)

    def __len__(self):
        return len(self.pixels)

    def __getitem__(self, which):
        bright = self.pixels[which].mean() > 0.5
        return {"picture": torch.from_numpy(self.pixels[which]), "bright": float(bright)}


class Judge(nn.Module):
    def __init__(self):
        super().__init__()
        self.look = nn.Conv2d(3, 8, 3, padding=1)
        self.decide = nn.Linear(8, 1)

    def forward(self, picture):
        return self.decide(torch.relu(self.look(picture)).mean((2, 3))).squeeze(-1)


def main():
    torch.manual_seed(0)
    model = Judge()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for batch in DataLoader(Photographs(), batch_size=8):
        judged = model(batch["picture"])
        loss = nn.functional.binary_cross_entropy_with_logits(judged, batch["bright"].float())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


main()
