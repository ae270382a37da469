"""What is measured of weights that should learn, in real small trainings."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from surefit.doctor.measures.weights_learn import HeldWeights, WeightsLearn
from surefit.doctor.recording import read
from surefit.observe.inside import spool

HERE = Path(__file__).parent
TRAININGS = """
import json, sys
from dataclasses import asdict
sys.path.insert(0, HERE)
import run_trainings
run_trainings.observe()
from importlib import import_module
import_module("surefit.observe.inside.measuring").install()
import torch
from torch import nn
from surefit.observe.inside import finishing

def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))

def fit(model, loss_of, steps=10, step=True, before=lambda model: None):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    before(model)
    x = torch.randn(16, 4)
    for _ in range(steps):
        optimizer.zero_grad()
        loss_of(model, x).backward()
        if step:
            optimizer.step()
        else:
            optimizer.zero_grad
    return optimizer

def plain(model, x):
    return model(x).square().mean()

def leaf(model, x):
    return plain(model, x).detach().requires_grad_()

def cut(model, x):
    return model[2](model[1](model[0](x)).detach()).square().mean()

def bad(model, x):
    return model(x).sub(model(x)).abs().sqrt().sum()

def frozen(model, x):
    return model(x.requires_grad_()).mean()

def run(*given, **settings):
    finishing.forget()
    kept = fit(*given, **settings)
    return asdict(import_module("surefit.observe.inside.measuring.weights_learn")._measure())

print(json.dumps({
    "plain": run(net(), plain),
    "leaf": run(net(), leaf),
    "cut": run(net(), cut),
    "bad": run(net(), bad),
    "frozen": run(net(), frozen, before=lambda model: model.requires_grad_(False)),
    "unstepped": run(net(), plain, step=False),
}))
"""


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> dict[str, WeightsLearn]:
    folder = tmp_path_factory.mktemp("spool")
    source = str(HERE.parents[1] / "src")
    environment = {**os.environ, "PYTHONPATH": source, spool.FOLDER: str(folder)}
    script = folder / "train.py"
    script.write_text(TRAININGS.replace("HERE", repr(str(HERE))))
    command = [sys.executable, str(script)]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    every = json.loads(ended.stdout.splitlines()[-1])
    lines = {name: json.dumps({"saw": "WeightsLearn", **kept}) for name, kept in every.items()}
    return {name: next(read([line]).all(WeightsLearn)) for name, line in lines.items()}


def held(measure: WeightsLearn) -> HeldWeights:
    assert len(measure.held) == 1
    return measure.held[0]


def test_a_healthy_training(measured: dict[str, WeightsLearn]) -> None:
    plain = held(measured["plain"])
    assert (plain.empty, plain.missing, plain.not_numbers, plain.trainable) == (0, (), 0, 4)
    assert plain.last_step == 10
    assert measured["plain"].leaves == 0


def test_backward_from_a_leaf(measured: dict[str, WeightsLearn]) -> None:
    leaf = held(measured["leaf"])
    assert (leaf.empty, leaf.leaf, leaf.cleared) == (10, 10, 0)
    assert measured["leaf"].leaf_at is not None


def test_a_part_that_is_cut_off(measured: dict[str, WeightsLearn]) -> None:
    assert held(measured["cut"]).missing == ("0.weight", "0.bias")
    assert held(measured["cut"]).missing_looked == 2


def test_weights_that_become_nan(measured: dict[str, WeightsLearn]) -> None:
    bad = held(measured["bad"])
    assert bad.not_numbers > 0
    assert bad.not_numbers_by == 1


def test_frozen_after_they_were_handed_over(measured: dict[str, WeightsLearn]) -> None:
    frozen = held(measured["frozen"])
    assert (frozen.handed_trainable, frozen.trainable, frozen.empty) == (4, 0, 10)


def test_passes_without_a_step(measured: dict[str, WeightsLearn]) -> None:
    unstepped = measured["unstepped"]
    assert (unstepped.watched, unstepped.moved, unstepped.compared) == (4, 0, 6)
    assert unstepped.optimizers >= 1
