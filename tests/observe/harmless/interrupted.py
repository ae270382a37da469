"""Ctrl-C in the middle, saved on the way out, and not caught for good."""

import os
import signal
import sys

import ending
import torch
from torch import nn

signal.signal(signal.SIGINT, signal.default_int_handler)  # also where a shell ignores it
ending.seed()
model = nn.Linear(3, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
try:
    for step in range(10):
        loss = model(torch.randn(2, 3)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(step, loss.item())
        if step == 4:
            os.kill(os.getpid(), signal.SIGINT)
finally:
    ending.tell(model)
    sys.stdout.flush()
