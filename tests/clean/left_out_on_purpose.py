"""Losses that leave out rows or positions on purpose, or have their targets elsewhere."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
STEPS = 24


def trained(model, loss_of, *tensors):
    """The loss of the last of two epochs."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(2):
        for batch in DataLoader(TensorDataset(*tensors), batch_size=16, shuffle=True):
            loss = loss_of(model, *batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return loss.item()


class Recurrent(nn.Module):
    """A prediction for every step of a series."""

    def __init__(self, width, outputs):
        super().__init__()
        self.rnn = nn.GRU(width, 16, batch_first=True)
        self.head = nn.Linear(16, outputs)

    def forward(self, series):
        return self.head(self.rnn(series)[0])


def mlp(outputs):
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, outputs))


def hardest(model, rows, labels):
    return F.cross_entropy(model(rows), labels, reduction="none").topk(4).values.mean()


def with_a_margin(model, rows, labels):
    return F.multi_margin_loss(model(rows), labels, margin=0.2)


def after_a_warm_up(model, series, targets):
    return F.mse_loss(model(series)[:, 4:], targets[:, 4:])


def next_step(model, series, _targets):
    """Of the series itself; a copy, as after a normalisation."""
    return F.mse_loss(model(series - 50.0)[:, :-1], series[:, 1:])


def next_state(model, series, states):
    """States last long: most are equal to the one before."""
    return F.cross_entropy(model(series)[:, :-1].transpose(1, 2), states[:, 1:])


def in_pairs(model, rows, labels):
    first, second = model(rows)[0::2], model(rows)[1::2]
    apart = (first - second).pow(2).sum(-1)
    same = labels[0::2] == labels[1::2]
    return torch.where(same, apart, (4 - apart).clamp(min=0)).mean()


def consistent(model, rows, labels):
    """The first half of the outputs has labels, the second is held to the first."""
    seen, noisy = model(torch.cat([rows, rows + 0.1 * torch.randn_like(rows)])).chunk(2)
    return F.cross_entropy(seen, labels) + F.mse_loss(noisy, seen.detach())


rows = torch.randn(128, 8)
labels = rows[:, :4].argmax(1)
for loss_of in (hardest, with_a_margin, in_pairs, consistent):
    print(loss_of.__name__, trained(mlp(4), loss_of, rows, labels))

series = 100 + torch.randn(128, STEPS, 3).cumsum(1)
states = (torch.arange(STEPS) > torch.randint(4, 20, (128, 1))).long()
print("warm-up", trained(Recurrent(3, 3), after_a_warm_up, series / 100, series / 50))
print("next step", trained(Recurrent(3, 3), next_step, series, series))
print("next state", trained(Recurrent(3, 2), next_state, series / 100, states))

values = mlp(1)
optimizer = torch.optim.Adam(values.parameters(), lr=1e-3)
for _ in range(20):
    states = torch.randn(33, 8)
    value = values(states).squeeze(-1)
    loss = F.mse_loss(value[:-1], states[:-1, 0] + 0.9 * value[1:].detach())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("values", loss.item())
