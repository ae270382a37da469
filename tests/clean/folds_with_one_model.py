"""One model object for all folds, which begins again in each: weights reset, loaded or drawn; and
one that is tested on each part of a stream before it is trained on it."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(120, 16)
y = (x[:, 0] + torch.randn(120) > 0).long()
folds = torch.randperm(120).chunk(3)
model = nn.Sequential(nn.Linear(16, 24), nn.ReLU(), nn.Linear(24, 2))
start = copy.deepcopy(model.state_dict())


def train(rows):
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    model.train()
    for _ in range(4):
        for batch in rows[torch.randperm(len(rows))].split(20):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x[batch]), y[batch]).backward()
            optimizer.step()


@torch.no_grad()
def test(rows):
    model.eval()
    return (model(x[rows]).argmax(1) == y[rows]).float().mean().item()


def reset():
    for layer in model:
        if isinstance(layer, nn.Linear):
            layer.reset_parameters()


def drawn():
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.1)


for begin in (reset, drawn, lambda: model.load_state_dict(start)):
    for fold, held_out in enumerate(folds):
        begin()
        train(torch.cat([part for number, part in enumerate(folds) if number != fold]))
        print(f"fold {fold}: test accuracy {test(held_out):.2f}")

model = nn.Sequential(nn.Linear(16, 24), nn.ReLU(), nn.Linear(24, 2))
for number, part in enumerate(folds):
    if number:
        print(f"part {number}: test accuracy {test(part):.2f}")
    train(part)
