"""Weights saved from a wrapped model are loaded into the bare one, to go on with training."""

import torch
from torch import nn


class Forecast(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 16)
        self.norm = nn.BatchNorm1d(16)
        self.head = nn.Linear(16, 1)

    def forward(self, x):
        return self.head(self.norm(self.body(x)).relu()).squeeze(-1)


def train(model, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(steps):
        x = torch.randn(32, 8)
        loss = nn.functional.mse_loss(model(x), x.sum(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


torch.manual_seed(0)
parallel = nn.DataParallel(Forecast())
print(f"first part: loss {train(parallel, 5):.3f}")
torch.save(parallel.module.state_dict(), "forecast.pt")

model = Forecast()
model.load_state_dict(torch.load("forecast.pt"))
print(f"second part: loss {train(model, 5):.3f}")
