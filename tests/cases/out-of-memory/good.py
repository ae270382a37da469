"""Trains in a limited memory, and measures the loss on held-out rows after every epoch."""

import resource
from pathlib import Path

import torch
from torch import nn


def limit_memory(megabytes):
    """To what this process has mapped now, and so much more."""
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + megabytes * 2**20, resource.RLIM_INFINITY))


def evaluate(model, rows, targets):
    losses = []
    for row, target in zip(rows.split(256), targets.split(256), strict=True):
        loss = (model(row) - target).square().mean()
        losses.append(loss.detach())
    return sum(losses) / len(losses)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = nn.Sequential(nn.Linear(64, 8192), nn.ReLU(inplace=True), nn.Linear(8192, 1))
    rows, targets = torch.randn(8192, 64), torch.randn(8192, 1)
    held_out, expected = torch.randn(32768, 64), torch.randn(32768, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    limit_memory(700)
    for epoch in range(2):
        for row, target in zip(rows.split(256), targets.split(256), strict=True):
            loss = (model(row) - target).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        print(f"epoch {epoch} held-out loss {evaluate(model, held_out, expected):.4f}")


main()
