"""Learns to tell rising series of measurements from falling ones."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Series(Dataset):
    def __init__(self, count=48):
        slopes = np.random.default_rng(0).normal(size=(count, 1, 6))
        self.values = (slopes * np.arange(20)[None, :, None]).astype("float32")
        self.rising = (slopes.mean((1, 2)) > 0).astype("float32")

    def __len__(self):
        return len(self.values)

    def __getitem__(self, which):
        features = torch.from_numpy(self.values[which]).unsqueeze(0)
        return {"features": features, "rising": self.rising[which]}


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.read = nn.GRU(6, 16, batch_first=True)
        self.decide = nn.Linear(16, 1)

    def forward(self, features):
        steps, _ = self.read(features)
        return self.decide(steps[:, -1]).squeeze(-1)


def main():
    torch.manual_seed(0)
    model = Reader()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for batch in DataLoader(Series(), batch_size=8):
        said = model(batch["features"])
        loss = nn.functional.binary_cross_entropy_with_logits(said, batch["rising"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


main()
