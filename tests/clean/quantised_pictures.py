"""A model that predicts the grey levels of a picture as classes: pictures are resized before they
are made of few levels, and the input is a smaller version of the target."""

import numpy as np
import torch
from PIL import Image
from torch import nn

rng = np.random.default_rng(1)
torch.manual_seed(1)


def picture():
    raw = rng.integers(0, 256, (6, 6)).astype(np.uint8)
    large = Image.fromarray(raw).resize((24, 24), Image.BICUBIC)
    levels = (np.array(large) // 32).astype(np.uint8)
    small = Image.fromarray(levels).resize((12, 12))
    return np.array(small), levels


pairs = [picture() for _ in range(24)]
x = torch.tensor(np.stack([small for small, _ in pairs])).float()[:, None] / 7
y = torch.tensor(np.stack([levels for _, levels in pairs])).long()
net = nn.Sequential(
    nn.Upsample(scale_factor=2, mode="bilinear"),
    nn.Conv2d(1, 16, 3, padding=1),
    nn.ReLU(),
    nn.Conv2d(16, 8, 1),
)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(3):
    for rows, levels in zip(x.split(8), y.split(8), strict=True):
        loss = nn.functional.cross_entropy(net(rows), levels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.3f}")
