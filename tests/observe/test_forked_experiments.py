"""Experiments in a fork of a real run: made once, ended if they hang, and not where they cannot."""

from pathlib import Path

import pytest

from running import Ran, forked_observed, written
from surefit.doctor.measures.experiments import Experimented

pytestmark = pytest.mark.slow

TRAINING = """
    import time
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    {forward}

    torch.manual_seed(0)
    rows = torch.randn(48, 6)
    loader = DataLoader(TensorDataset(rows, rows.sum(1)), batch_size=8)
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for batch, wanted in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(batch)[:, 0], wanted).backward()
        optimizer.step()
    print("end")
"""
MODEL = """
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(6, 1)

        def forward(self, x):
            {line}
            return self.layer(x)
"""


def run(folder: Path, line: str) -> Ran:
    body = MODEL.replace("{line}", line)
    script = written(folder, train=TRAINING.replace("{forward}", body.strip()))
    return forked_observed([script.name], folder)


def made(ran: Ran) -> list[Experimented]:
    assert ran.code == 0
    assert ran.out == "end\n"
    assert ran.faults == []
    return list(ran.seen.all(Experimented))


def test_each_model_is_tried_once_in_training(tmp_path: Path) -> None:
    (tried,) = made(run(tmp_path, "pass"))
    assert (tried.model, tried.training, tried.step, tried.why_not) == ("Model", True, 1, "")
    assert tried.rows.judged == 1
    assert tried.rows.changed == 0
    assert tried.place is not None
    assert tried.place.line == 22


def test_a_fork_that_hangs_is_ended_and_said_to_be(tmp_path: Path) -> None:
    hangs = "time.sleep(0 if self.training else 1000)"
    (tried,) = made(run(tmp_path, hangs))
    assert "did not end" in tried.why_not
    assert not tried.rows.judged


def test_a_model_that_cannot_be_called_again_is_not_measured(tmp_path: Path) -> None:
    (tried,) = made(run(tmp_path, "assert self.training, 'no evaluation'"))
    assert "could not be called again" in tried.why_not


def test_what_a_fork_would_write_is_refused(tmp_path: Path) -> None:
    line = "open(f'{self.training}.txt', 'a').close()"
    (tried,) = made(run(tmp_path, line))
    assert "writes nothing" in tried.why_not
    assert [file.name for file in tmp_path.glob("*.txt")] == ["True.txt"]
