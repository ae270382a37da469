"""Accumulates four batches for each step; an epoch has eleven."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(176, 10)
y = torch.sin(x @ torch.randn(10, 1))
loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 1))

optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
group = 4

for epoch in range(6):
    optimizer.zero_grad()
    for i, (inputs, targets) in enumerate(loader):
        loss = nn.functional.mse_loss(model(inputs), targets) / group
        loss.backward()
        if (i + 1) % group == 0:
            optimizer.step()
            optimizer.zero_grad()
    print(f"epoch {epoch}: loss {group * loss.item():.4f}")
