"""Small trainings that are evaluated in one way or another, run in one process.

    python evaluations.py NAME...

Prints, for each, what was measured of modes and of reported numbers, as a line of JSON.
"""

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from importlib import import_module
from typing import Any


def observe() -> None:
    from surefit.observe.inside.after_import import Watcher, catch_up

    sys.meta_path.insert(0, Watcher())
    for part in ("origins", "epochs", "training.steps", "measuring"):
        module = import_module(f"surefit.observe.inside.{part}")
        getattr(module, "install", lambda: None)()
    catch_up()


def train(model: Any, between: Callable[[int], None], steps: int = 6) -> None:
    import torch
    from torch.nn import functional

    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(steps):
        rows, labels = torch.randn(8, 4), torch.randint(0, 3, (8,))
        loss = functional.cross_entropy(model(rows), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 2:
            between(step)


def net() -> Any:
    from torch import nn

    return nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.BatchNorm1d(8), nn.Linear(8, 3))


def stays_in_evaluation_mode() -> None:
    import torch

    model, held_out = net(), torch.randn(8, 4)

    def evaluate(_step: int) -> None:
        model.eval()
        with torch.no_grad():
            model(held_out)

    train(model, evaluate)


def keeps_gradients_on() -> None:
    import torch

    model, held_out = net(), torch.randn(8, 4)
    train(model, lambda _step: model(held_out))


def drops_as_a_function() -> None:
    import torch
    from torch import nn
    from torch.nn import functional

    class Dropping(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.outer = nn.Linear(4, 8), nn.Linear(8, 3)
            self.running_mean: torch.Tensor
            self.register_buffer("running_mean", torch.zeros(8))

        def forward(self, rows: Any) -> Any:
            hidden = functional.dropout(self.inner(rows), 0.5)
            self.running_mean = 0.9 * self.running_mean + 0.1 * hidden.detach().mean(0)
            return self.outer(hidden)

    model, held_out = Dropping(), torch.randn(8, 4)

    def evaluate(_step: int) -> None:
        model.eval()
        with torch.no_grad():
            model(held_out)
        model.train()

    train(model, evaluate)


def reports() -> None:
    """One line with a mean, the last batch, and a sum that is divided in the loop."""
    import torch
    from torch.nn import functional

    model = net()
    held_out, labels = torch.randn(24, 4), torch.randint(0, 3, (24,))

    def evaluate(_step: int) -> None:
        model.eval()
        total, halved, last, right = 0.0, 0.0, 0.0, 0
        with torch.no_grad():
            for number, begin in enumerate(range(0, 24, 8), start=1):
                logits = model(held_out[begin : begin + 8])
                wanted = labels[begin : begin + 8]
                last = functional.cross_entropy(logits, wanted).item()
                total += last
                halved = (halved + last) / number
                right += int((logits.argmax(-1) == wanted).sum())
        model.train()
        print(f"mean {total / 3:.5f} last {last:.5f} halved {halved:.5f} acc {right / 24:.5f}")
        for found in ({"eval_accuracy": right / 24}, {"rows_per_second": 304.9}):
            print(found)

    train(model, evaluate)


def main() -> None:
    observe()
    import torch

    torch.set_num_threads(1)
    modes = import_module("surefit.observe.inside.measuring.modes")
    printed = import_module("surefit.observe.inside.measuring.printed")
    finishing = import_module("surefit.observe.inside.finishing")
    for name in sys.argv[1:]:
        finishing.forget()
        torch.manual_seed(0)
        globals()[name]()
        for measure in (modes.measured(), printed.measured()):
            line = {"saw": type(measure).__name__, **asdict(measure)}
            sys.stderr.write(f"{name} {json.dumps(line)}\n")


if __name__ == "__main__":
    main()
