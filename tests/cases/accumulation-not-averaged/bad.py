"""Accumulates five batches for each step, with momentum."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(800, 10)
y = torch.sin(x @ torch.randn(10, 1))
loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 1))

optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
micro_batches = 5

for epoch in range(4):
    for i, (inputs, targets) in enumerate(loader):
        loss = nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        if (i + 1) % micro_batches == 0:
            optimizer.step()
            optimizer.zero_grad()
    print(f"epoch {epoch}: loss {loss.item():.4f}")
