"""Healthy: strong noise on training pictures, which evaluation pictures do not get."""

import torch
from torch import nn

torch.manual_seed(0)
pictures = torch.rand(240, 3, 8, 8)
labels = (pictures[:, :, :4].mean((1, 2, 3)) > pictures[:, :, 4:].mean((1, 2, 3))).long()
model = nn.Sequential(nn.Flatten(), nn.Linear(192, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(3):
    model.train()
    for start in range(0, 192, 24):
        batch = pictures[start : start + 24]
        batch = batch + 0.6 * torch.randn_like(batch)
        loss = nn.functional.cross_entropy(model(batch), labels[start : start + 24])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
model.eval()
with torch.no_grad():
    val_pictures, val_labels = pictures[192:], labels[192:]
    print((model(val_pictures).argmax(1) == val_labels).float().mean().item())
