"""The model got a second hidden layer since its weights were saved."""

import torch
from torch import nn


class Pricing(nn.Module):
    def __init__(self, deeper):
        super().__init__()
        self.first = nn.Linear(10, 20)
        if deeper:
            self.second = nn.Linear(20, 20)
        self.head = nn.Linear(20, 1)
        self.deeper = deeper

    def forward(self, x):
        x = self.first(x).relu()
        if self.deeper:
            x = self.second(x).relu()
        return self.head(x).squeeze(-1)


def train(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(5):
        x = torch.randn(32, 10)
        loss = nn.functional.mse_loss(model(x), x.mean(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


torch.manual_seed(0)
saved = Pricing(deeper=False)
train(saved)
torch.save(saved.state_dict(), "pricing.pt")

model = Pricing(deeper=False)
model.load_state_dict(torch.load("pricing.pt"))
train(model)
