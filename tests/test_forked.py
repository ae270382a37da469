"""A script in a fork of a Python with torch in it is seen as one in a process of its own."""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import forked
from running import Ran, forked_observed, forked_plainly, forked_run, observed, surefit_run, written
from surefit.doctor.observations import Chance, Imported
from surefit.doctor.recording import as_line

TRAINS = """
    import sys
    import torch
    from torch import nn
    from torch.utils.data import DataLoader

    torch.manual_seed(0)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Linear(4, 8)
            self.unused = nn.Linear(8, 8)
            self.head = nn.Linear(8, 3)

        def forward(self, x):
            return self.head(self.body(x).relu())

    net = Net()
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    rows = [(torch.randn(4), at % 3) for at in range(24)]
    for x, y in DataLoader(rows, batch_size=4, shuffle=True):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        try:
            {}["absent"]
        except KeyError:
            pass
    torch.save(net.state_dict(), "net.pt")
    print(__name__, __file__, __spec__, sys.argv, loss.item())
    labels = torch.arange(12).reshape(3, 4)
    labels[:, 1:].view(-1)
"""

VOLATILE = {"at", "pid", "id", "crash", "identity", "seconds", "spent", "peak"}


def settled(value: Any, folder: Path) -> Any:
    """Without what differs between any two runs: numbers of processes and objects, times."""
    if isinstance(value, dict):
        return {name: settled(one, folder) for name, one in value.items() if name not in VOLATILE}
    if isinstance(value, list):
        return [settled(one, folder) for one in value]
    if isinstance(value, str):
        return value.replace(str(folder), "")
    return value


def seen(ran: Ran, folder: Path) -> list[Any]:
    """Where unseeded streams begin is chance itself, and a fork has imported everything before."""
    lines = [
        as_line(one) for one in ran.seen.observations if not isinstance(one, Chance | Imported)
    ]
    return [settled(json.loads(line), folder) for line in lines]


@pytest.mark.slow
def test_the_same_is_observed(tmp_path: Path) -> None:
    script = written(tmp_path, script=TRAINS)
    own, fork = observed([script], tmp_path), forked_observed([script], tmp_path)
    assert (fork.out, fork.err, fork.code) == (own.out, own.err, own.code)
    assert seen(fork, tmp_path) == seen(own, tmp_path)
    assert {type(one).__name__ for one in fork.seen.observations} >= {"Crash", "Steps", "Script"}


@pytest.mark.slow
def test_the_same_is_found_and_proved(tmp_path: Path) -> None:
    script = written(tmp_path, script=TRAINS)
    own, fork = surefit_run([script.name], tmp_path), forked_run([script.name], tmp_path)
    assert fork.rules() == own.rules() == ["view-of-a-slice"]
    assert fork.document["findings"] == own.document["findings"]
    assert (fork.out, fork.code) == (own.out, own.code)
    assert without_times(fork.err) == without_times(own.err)


def without_times(text: str) -> str:
    return re.sub(r"\b[\d.]+ s\b", "N s", text)


def test_an_environment_that_a_fork_cannot_have_is_refused(tmp_path: Path) -> None:
    """Instead of a process of its own, which takes ten times as long without a word."""
    script = written(tmp_path, script="import torch")
    command = [sys.executable, script.name]
    with pytest.raises(RuntimeError, match="a fork cannot have LEFT_BY_A_LIBRARY of its own"):
        forked.started(command, cwd=tmp_path, env={**os.environ, "LEFT_BY_A_LIBRARY": "1"})


def test_exit_codes_and_streams_are_the_scripts(tmp_path: Path) -> None:
    script = written(
        tmp_path,
        script="""
            import random, sys, torch
            print(random.random(), file=sys.stderr)
            print(sys.argv[1:], sys.path[0], __name__)
            sys.exit(3)
        """,
    )
    first, second = (forked_plainly([script, "a", "b"], tmp_path) for _ in range(2))
    assert first.code == 3
    assert first.out == f"['a', 'b'] {tmp_path} __main__\n"
    assert first.err != second.err
