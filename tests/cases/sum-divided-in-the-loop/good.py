"""A classifier, with its loss on held-out rows after each epoch."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x, held_out = torch.randn(96, 8), torch.randn(48, 8)
y, expected = x[:, :4].argmax(1), held_out[:, :4].argmax(1)
train = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
valid = DataLoader(TensorDataset(held_out, expected), batch_size=16)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for epoch in range(3):
    for batch, labels in train:
        loss = F.cross_entropy(model(batch), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    total = 0.0
    with torch.no_grad():
        for batch, labels in valid:
            total += F.cross_entropy(model(batch), labels).item()
    total /= len(valid)
    print(f"epoch {epoch} val loss {total:.4f}")
