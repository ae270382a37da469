"""Metrics of a library that rank scores, and what they are given."""

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
import torch

from surefit.doctor.findings import Place
from surefit.doctor.measures.metric_calls import MetricCall, MetricCalls
from surefit.doctor.observations import Process, Script
from surefit.doctor.recording import Recording
from surefit.laws.case import Case
from surefit.laws.invariants.metric_inputs import violations_of, watched
from surefit.observe.inside.measuring import metric_calls

CODE = "def roc_auc_score(y_true, y_score, **how): return 0.5"


@pytest.fixture
def library() -> Iterator[ModuleType]:
    module = ModuleType("sklearn.metrics")
    exec(compile(CODE, "sklearn/metrics.py", "exec"), vars(module))
    metric_calls.metrics(module)
    yield module
    metric_calls.forget_parent()


@pytest.mark.parametrize(
    ("scores", "decided"),
    [
        ([0, 1] * 8, 1),
        ([0.0, 1.0] * 8, 1),
        (torch.tensor([0.0, 1.0] * 8), 1),
        ([0, 1] * 4, 0),
        ([0.2, 0.7] * 8, 0),
        ([1] * 16, 0),
        (None, 0),
    ],
)
def test_zeros_and_ones_are_no_scores(library: Any, scores: Any, decided: int) -> None:
    assert library.roc_auc_score([0, 1] * 8, y_score=scores) == 0.5
    (known,) = metric_calls._calls.values()
    assert (known.times, known.decided) == (1, decided)


def recording(decided: int, times: int = 2) -> Recording:
    call = MetricCall(
        function="roc_auc_score",
        place=Place("train.py", 1),
        times=times,
        decided=decided,
        rows=200,
        step=8,
    )
    script = Script("train.py", "print(roc_auc_score(y, guess))\n", main=True)
    return Recording([script, MetricCalls(process=Process(), calls=(call,))])


def test_decisions_are_a_violation_where_they_came_each_time() -> None:
    (found,) = violations_of(Case(recording(decided=2)))
    assert found.use.text == "roc_auc_score(y, guess)"
    assert not found.certain
    assert list(violations_of(Case(recording(decided=1)))) == []
    assert watched(recording(decided=2)).on == "2 calls"
