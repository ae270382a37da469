"""Experiments on models in this process: which law each breaks, and where."""

import random
from dataclasses import replace

import experiment_models as models
import pytest
import torch

from surefit.doctor.findings import Place
from surefit.doctor.measures.experiments import Experimented, Reach
from surefit.doctor.observations import Process
from surefit.doctor.recording import Recording
from surefit.laws.case import Case
from surefit.laws.invariants import future, independent_rows, padding
from surefit.laws.law import BrokenLaw
from surefit.observe.inside.experiments import trying
from surefit.observe.inside.experiments.batches import UnclearRowsError
from surefit.observe.inside.experiments.reach import reach_of


def experimented(setup: models.Setup) -> Experimented:
    call = trying.TriedCall(
        module=setup.module,
        tree=(setup.args, setup.kwargs),
        rows=models.ROWS,
        from_loader={id(given): 0 for given in setup.args} if setup.loaded else {},
        assumed=False,
        place=Place("train.py", 1),
        training=True,
        step=1,
        slow=False,
        predicts=(0, setup.predicts) if setup.predicts is not None else None,
    )
    made = trying.measure(call)
    try:
        with torch.no_grad():
            return trying.experiments(call, made, float("inf"))
    except UnclearRowsError as error:
        return replace(made, why_not=str(error))


def violations(made: Experimented) -> list[BrokenLaw]:
    case = Case(Recording([made]))
    return [
        broken for law in (independent_rows, padding, future) for broken in law.violations_of(case)
    ]


@pytest.fixture(autouse=True)
def _same_numbers() -> None:
    torch.manual_seed(0)
    random.seed(0)


@pytest.mark.parametrize("name", models.HEALTHY)
def test_healthy_models_break_no_law(name: str) -> None:
    made = experimented(models.HEALTHY[name]())
    assert made.process == Process(made.process.pid, made.process.role)
    assert violations(made) == []


@pytest.mark.parametrize("name", models.BROKEN)
def test_the_first_operation_that_mixes_is_named(name: str) -> None:
    kind, operation, setup = models.BROKEN[name]
    made = experimented(setup())
    found = [broken for broken in violations(made) if type(broken).__name__ == kind]
    assert len(found) == 1, made
    named = found[0].operation.name  # type: ignore[attr-defined]
    assert operation in named


def test_how_far_attention_sees() -> None:
    scores = torch.zeros(3, 2, 6, 6)
    later = torch.ones(6, 6).triu(2).bool()
    weights = scores.masked_fill(later, float("-inf")).softmax(-1)
    assert reach_of("softmax", [scores], weights, 6) == Reach(5, 1)
    given = torch.zeros(3, 6, 4)
    assert reach_of("scaled_dot_product_attention", [given, ~later], given, 6) == Reach(5, 1)
    assert reach_of("multi_head_attention_forward", [given, later], given, 6) == Reach(5, 1)
    assert reach_of("multi_head_attention_forward", [given], given, 6) is None
    assert reach_of("linear", [scores], scores, 6) is None
