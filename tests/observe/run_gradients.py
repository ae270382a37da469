"""Trains in several ways in this process, observed: for each, counts of gradients and of rates.

python run_gradients.py OUT
"""

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

INSIDE = "surefit.observe.inside"


def trained(clear: str = "before", steps: int = 1, group: int = 1, gamma: float = 1.0) -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x, y = torch.randn(16, 4), torch.randn(16, 1)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma)
    for _ in range(12):
        for _ in range(group):
            if clear == "each":
                optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
        if clear == "late":
            for parameter in model.parameters():
                parameter.grad = None
        for _ in range(steps):
            optimizer.step()
        if clear == "before":
            model.zero_grad()
        scheduler.step()


WAYS: dict[str, Callable[[], None]] = {
    "healthy": trained,
    "never": lambda: trained(clear="never"),
    "late": lambda: trained(clear="late"),
    "twice": lambda: trained(steps=2),
    "accumulated": lambda: trained(group=3),
    "cut": lambda: trained(clear="each", group=3),
    "decayed": lambda: trained(gamma=0.1),
}


def main() -> None:
    from surefit.observe.inside.after_import import Watcher

    sys.meta_path.insert(0, Watcher())
    for part in ("origins", "epochs", "training.steps", "measuring.gradients", "measuring.rates"):
        import_module(f"{INSIDE}.{part}")
    import torch

    torch.set_num_threads(1)
    found: dict[str, Any] = {}
    for name, way in WAYS.items():
        import_module(f"{INSIDE}.finishing").forget()
        way()
        (ledger,) = import_module(f"{INSIDE}.measuring.gradients").seen.ledgers.values()
        rates = import_module(f"{INSIDE}.measuring.rates").seen
        found[name] = {
            "gradients": asdict(ledger.as_seen(())),
            "rates": [asdict(course.as_seen()) for course in rates.by_serial.values()],
            "schedules": [asdict(schedule.as_seen()) for schedule in rates.every_schedule],
        }
    Path(sys.argv[1]).write_text(json.dumps(found))


if __name__ == "__main__":
    main()
