"""A tensor that sees every operation on itself, and a mode that sees every operation."""

from collections import Counter
from typing import Any

import ending
import torch
from torch import nn
from torch.overrides import TorchFunctionMode

ending.seed()
seen: Counter[str] = Counter()


class Counted(torch.Tensor):
    """Says what is done with it."""

    @property
    def shape(self) -> Any:
        seen["shape asked"] += 1
        return super().shape

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        seen[getattr(func, "__name__", str(func))] += 1
        return super().__torch_function__(func, types, args, kwargs or {})


class Counting(TorchFunctionMode):
    """Counts what is done inside."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        seen["mode " + getattr(func, "__name__", str(func))] += 1
        return func(*args, **(kwargs or {}))


model = nn.Linear(5, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
rows = torch.randn(12, 5).as_subclass(Counted)
for step in range(6):
    out = model(rows)
    loss = nn.functional.mse_loss(out, torch.zeros(12, 2).as_subclass(Counted))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, float(loss))
with Counting():
    model(torch.ones(1, 5))
print(sorted(seen.items()))
ending.tell(model)
