"""A regression, with its loss on held-out rows after each epoch."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x, held_out = torch.randn(96, 8), torch.randn(33, 8)
y, expected = x[:, :1], held_out[:, :1].clone()
expected[-1] = 9.0
train = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
valid = DataLoader(TensorDataset(held_out, expected), batch_size=16)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for epoch in range(3):
    for batch, labels in train:
        loss = F.mse_loss(model(batch), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    total, rows = 0.0, 0
    with torch.no_grad():
        for batch, labels in valid:
            total += F.mse_loss(model(batch), labels).item()
            rows += 1
    print(f"epoch {epoch} val loss {total / rows:.4f}")
