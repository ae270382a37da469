import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Fields(Dataset):
    """Pictures (height, width, channels), and which pixels are part of a field."""

    def __init__(self):
        numbers = np.random.default_rng(0)
        self.masks = np.zeros((48, 16, 16), dtype="float32")
        for mask in self.masks:
            top, left = numbers.integers(0, 8), numbers.integers(0, 12)
            mask[top : top + 8, left : left + 3] = 1
        noise = numbers.normal(0, 0.3, (48, 16, 16, 3))
        self.pictures = (self.masks[..., None] + noise).astype("float32")

    def __len__(self):
        return len(self.masks)

    def __getitem__(self, number):
        picture = torch.from_numpy(self.pictures[number]).permute(2, 0, 1)
        return picture, torch.from_numpy(self.masks[number])


torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(3):
    for pictures, masks in DataLoader(Fields(), batch_size=8):
        optimizer.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(model(pictures)[:, 0], masks)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.3f}")
