"""Fits a line to the heights of young trees, and measures it on a few that were held out."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def held_out_error(model, loader):
    errors = []
    with torch.no_grad():
        for age, height in loader:
            errors.append((model(age) - height).abs())
    return torch.cat(errors).mean().item()


def main():
    torch.manual_seed(0)
    age = torch.rand(90, 1) * 10
    height = 0.4 * age + 0.1 * torch.randn(90, 1)
    known, held_out = TensorDataset(age[:72], height[:72]), TensorDataset(age[72:], height[72:])
    training = DataLoader(known, batch_size=24, shuffle=True, drop_last=True)
    checking = DataLoader(held_out, batch_size=24)
    model = nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for epoch in range(3):
        for age, height in training:
            loss = nn.functional.mse_loss(model(age), height)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: {held_out_error(model, checking):.3f}")


main()
