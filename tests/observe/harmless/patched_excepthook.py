"""A hook of the user's own for what nobody caught."""

import sys
import traceback
from types import TracebackType

import ending
import torch
from torch import nn


def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    print("mine:", kind.__name__, error)
    print("".join(traceback.format_exception(kind, error, trace)))
    sys.stdout.flush()


sys.excepthook = hook
ending.seed()
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(5):
    loss = model(torch.randn(2, 3)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
ending.tell(model)
try:
    model(torch.randn(2, 4))
except RuntimeError:
    print(traceback.format_exc())
model(torch.randn(2, 5))
