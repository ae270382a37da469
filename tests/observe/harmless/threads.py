"""Rows come from a thread, one thread fails on its own, and one outlives the script."""

import queue
import threading
import time

import ending
import torch
from torch import nn

ending.seed()
rows: queue.Queue[torch.Tensor | None] = queue.Queue(maxsize=2)


def produce() -> None:
    stream = torch.Generator().manual_seed(3)
    for _ in range(10):
        rows.put(torch.randn(4, 6, generator=stream))
    rows.put(None)


def outlive() -> None:
    time.sleep(0.5)
    print("outlived", __name__, Late.__module__)


class Late:
    """Looked up when the script itself has ended."""


def fail() -> None:
    int("no number")


threading.excepthook = lambda failed: print("thread failed:", failed.exc_value)
failing = threading.Thread(target=fail)
failing.start()
failing.join()
threading.Thread(target=produce, daemon=True).start()

model = nn.Linear(6, 6)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
while (batch := rows.get()) is not None:
    loss = (model(batch) - batch).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
ending.tell(model)
threading.Thread(target=outlive).start()
