"""Targets among the inputs, on measures written by hand."""

import pytest

from surefit.doctor.findings import Place
from surefit.doctor.measures.leaked_targets import TargetsInInputs
from surefit.doctor.observations import Process
from surefit.doctor.recording import Recording
from surefit.laws.case import Case
from surefit.laws.invariants.leaked_targets import TargetAmongInputs, violations_of

HEALTHY = {"rows": 256, "values": 32, "looked": 8, "shape": (32, 12, 2), "positions": ()}


def found(**changes: object) -> list[TargetAmongInputs]:
    about = HEALTHY | {"name": "mse_loss", "step": 7, "place": Place("train.py", 1)} | changes
    measure = TargetsInInputs(process=Process(1), **about)  # type: ignore[arg-type]
    recording = Recording([measure])
    return [
        broken for broken in violations_of(Case(recording)) if isinstance(broken, TargetAmongInputs)
    ]


def test_where_it_is() -> None:
    (broken,) = found(positions=(21,))
    assert (broken.position, broken.width, broken.back, broken.steps) == (21, 24, 2, 8)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"positions": (3,), "values": 2},
        {"positions": (3,), "rows": 16},
        {"positions": (3,), "looked": 1},
        {"positions": (1,), "shape": (32, 2)},
    ],
)
def test_what_is_no_leak(changes: dict[str, object]) -> None:
    assert not found(**changes)
