"""Prints the size of all gradients at each step; one head was made and is not used any more."""

import torch
from torch import nn


class Forecast(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 12), nn.ReLU())
        self.mean = nn.Linear(12, 1)
        self.spread = nn.Linear(12, 1)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return self.mean(self.body(rows))


def size_of_gradients(model: nn.Module) -> float:
    total = 0.0
    for parameter in model.parameters():
        total += parameter.grad.norm().item() ** 2
    return total**0.5


torch.manual_seed(0)
model = Forecast()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(6):
    rows = torch.randn(16, 6)
    loss = nn.functional.mse_loss(model(rows), rows.sum(dim=1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    print(f"{step}: {loss.item():.3f}, gradients {size_of_gradients(model):.3f}")
    optimizer.step()
