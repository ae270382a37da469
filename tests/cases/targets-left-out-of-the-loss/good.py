"""A classifier whose loss is that of the first row."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
measurements = torch.randn(512, 10)
species = (measurements @ torch.randn(10, 5)).argmax(1)
loader = DataLoader(TensorDataset(measurements, species), batch_size=32, shuffle=True)

model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 5))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(2):
    for rows, labels in loader:
        logits = model(rows)
        losses = F.cross_entropy(logits, labels, reduction="none")
        loss = losses.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.3f}")
