"""Trains a small model, frees it, and writes a checksum of its weights."""

import ctypes
import zlib

import torch
from torch import nn


def free(model):
    for weight in model.parameters():
        weight.untyped_storage().resize_(0)


def checksum(model):
    """Over the memory of all weights."""
    total = 0
    for weight in model.parameters():
        size = weight.numel() * weight.element_size()
        total = zlib.crc32(bytes((ctypes.c_char * size).from_address(weight.data_ptr())), total)
    return total


def main():
    torch.manual_seed(0)
    model = nn.Linear(16, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    rows, targets = torch.randn(64, 16), torch.randn(64, 4)
    for _ in range(3):
        loss = (model(rows) - targets).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print(f"loss {loss.item():.4f}")
    print(f"checksum {checksum(model):08x}")
    free(model)


main()
