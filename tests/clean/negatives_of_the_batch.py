"""A collate function that takes each row's negative from its batch, and one that adds noise."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader

torch.manual_seed(0)
noise = np.random.default_rng(0)
pairs = [(row, row + 0.1 * torch.randn(6)) for row in torch.randn(96, 6)]


def with_negatives(batch):
    anchor = torch.stack([first for first, _ in batch])
    positive = torch.stack([second for _, second in batch])
    return anchor, positive, positive.roll(1, 0)


def with_noise(batch):
    anchor, positive, negative = with_negatives(batch)
    scale = anchor.std() * 0.01
    return (
        anchor + scale * torch.from_numpy(noise.normal(size=(len(batch), 6))).float(),
        positive,
        negative,
    )


class Towers(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 8))

    def forward(self, anchor, positive, negative):
        a, p, n = self.one(anchor), self.one(positive), self.one(negative)
        return (a - p).norm(dim=1), (a - n).norm(dim=1)


for collate in (with_negatives, with_noise):
    model = Towers()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(2):
        for batch in DataLoader(pairs, 12, shuffle=True, collate_fn=collate):
            near, far = model(*batch)
            loss = (near - far + 0.5).clamp_min(0).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print(f"{collate.__name__}: loss {loss.item():.3f}")
