"""The price of a flat from its measurements: a model with one output."""

import torch
from torch import nn

torch.manual_seed(0)
flats = torch.randn(96, 4)
prices = flats @ torch.tensor([3.0, -1.0, 0.5, 2.0])
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
criterion = nn.MSELoss()

for begin in range(0, 96, 8):
    guesses = model(flats[begin : begin + 8])
    loss = criterion(guesses, prices[begin : begin + 8])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
