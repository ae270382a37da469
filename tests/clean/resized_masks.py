"""Masks of two classes that are resized as fractions and cut at one half, a map of distances that
is no class, pictures of few grey levels, and a model that resizes what it computes."""

import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.nn import functional as F

rng = np.random.default_rng(0)
torch.manual_seed(0)


def scene():
    mask = np.zeros((32, 32), np.uint8)
    row, column = rng.integers(2, 14, 2)
    mask[row : row + 12, column : column + 12] = 1
    levels = (mask * 3 + rng.integers(0, 3, mask.shape)).astype(np.uint8)
    return levels, mask


def prepared(levels, mask):
    picture = Image.fromarray(levels).resize((16, 16))
    turned = Image.fromarray(mask * 2).rotate(90).resize((16, 16), Image.NEAREST)
    soft = F.interpolate(torch.from_numpy(mask)[None, None].float(), (16, 16), mode="bilinear")
    x = torch.from_numpy(np.array(picture)).float()[None]
    classes = torch.from_numpy(np.array(turned)).long()
    return x, (soft[0, 0] > 0.5).long(), soft[0, 0], classes


rows = [prepared(*scene()) for _ in range(24)]
x, cut, soft, classes = (torch.stack(part) for part in zip(*rows, strict=True))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(1, 8, 3, padding=1, stride=2)
        self.second = nn.Conv2d(8, 6, 1)

    def forward(self, x):
        h = F.interpolate(torch.relu(self.first(x)), scale_factor=2, mode="bilinear")
        return self.second(h)


net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(3):
    for at in range(0, 24, 8):
        out = net(x[at : at + 8])
        loss = F.cross_entropy(out[:, :2], cut[at : at + 8])
        loss = loss + F.cross_entropy(out[:, 2:5], classes[at : at + 8])
        loss = loss + F.mse_loss(out[:, 5], soft[at : at + 8])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.3f}")
