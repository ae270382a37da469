"""Predictions that are moved away from targets on purpose, or by an optimizer that maximises."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Reverse(torch.autograd.Function):
    """The gradient with its sign turned round."""

    @staticmethod
    def forward(_context, given):
        return given.view_as(given)

    @staticmethod
    def backward(_context, gradient):
        return -gradient


def mlp(outputs):
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, outputs))


def step(optimizer, loss):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


rows = torch.randn(256, 8)
labels, sites = rows[:, :4].argmax(1), (rows[:, 5] > 0).long()
loader = DataLoader(TensorDataset(rows, labels, sites), batch_size=16, shuffle=True)

likelihood = mlp(4)
maximiser = torch.optim.Adam(likelihood.parameters(), lr=1e-3, maximize=True)
for given, wanted, _ in loader:
    shown = step(maximiser, -F.cross_entropy(likelihood(given), wanted))
print("likelihood", shown)

forgetful = mlp(4)
optimizer = torch.optim.Adam(forgetful.parameters(), lr=1e-3)
for given, wanted, _ in loader:
    shown = step(optimizer, F.cross_entropy(forgetful(given), wanted))
    step(optimizer, -0.1 * F.cross_entropy(forgetful(rows[:16]), labels[:16]))
print("forgets sixteen rows", shown)

body, head, judge = mlp(16), nn.Linear(16, 4), nn.Linear(16, 2)
every = [*body.parameters(), *head.parameters(), *judge.parameters()]
optimizer = torch.optim.Adam(every, lr=1e-3)
for given, wanted, site in loader:
    hidden = body(given)
    told = F.cross_entropy(judge(Reverse.apply(hidden)), site)
    shown = step(optimizer, F.cross_entropy(head(hidden), wanted) + told)
print("does not know the site", shown)

policy = mlp(4)
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
for given, wanted, _ in loader:
    chosen = torch.distributions.Categorical(logits=policy(given))
    action = chosen.sample()
    cost = 0.1 + (action != wanted).float()
    shown = step(optimizer, (chosen.log_prob(action) * cost).mean())
print("costs", shown)

levels = mlp(1)
optimizer = torch.optim.Adam(levels.parameters(), lr=1e-3)
shares = torch.sigmoid(rows[:, :1])
for given, wanted in DataLoader(TensorDataset(rows, shares), batch_size=16, shuffle=True):
    shown = step(optimizer, (levels(given) - wanted.log()).pow(2).mean())
print("logarithms", shown)
