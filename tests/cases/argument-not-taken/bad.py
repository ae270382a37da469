"""Fits a line; the settings come from a framework that has other names for them."""

import torch
from torch import nn

settings = {"learning_rate": 0.1, "weight_decay": 0.0}

torch.manual_seed(0)
inputs = torch.linspace(-1, 1, 32).unsqueeze(1)
targets = 3 * inputs + 1
model = nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), **settings)
schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=3, verbose=True)
for _ in range(20):
    loss = nn.functional.mse_loss(model(inputs), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step(loss.item())
print(f"loss {loss.item():.3f}")
