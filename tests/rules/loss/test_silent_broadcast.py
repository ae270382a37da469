"""A difference of [N, 1] and [N]; distances between all pairs are meant."""

from dataclasses import asdict, replace

import pytest

from failed_operations import operation
from surefit.doctor.conditions.differences import DifferenceOver
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import (
    Answer,
    DifferenceSeen,
    Operation,
    Process,
    Question,
    Script,
    Steps,
)
from surefit.doctor.recording import Recording
from surefit.rules.loss.silent_broadcast import RULE, is_spread

TEXT = "pred = net(x)\nloss = ((pred - y) ** 2).mean()\nloss.backward()\n"
Shape = tuple[int, ...]


def learnt(one: Operation) -> Operation:
    return replace(one, grad=True)


def steps(*differences: DifferenceSeen) -> Steps:
    return Steps(Process(1), 5, 1.0, 5, {}, ((0, 1.0),), backwards=5, differences=differences)


def found(
    predictions: Shape,
    targets: Shape,
    together: Shape,
    *more: Operation,
    both: bool = False,
    made: str = "linear",
    then: str = "pow",
) -> list[Finding]:
    story = [
        learnt(operation(9, "mean", (), (8,), 2)),
        learnt(operation(8, then, together, (7,), 2)),
        learnt(operation(7, "sub", together, (5, 6), 2)),
        replace(operation(6, "given", targets, (), 1), grad=both),
        learnt(operation(5, made, predictions, (4,), 1)),
        *more,
    ]
    said = {"operations": [asdict(one) for one in story], "parameters": 2, "past_clamps": 2}
    question = Question("story-of-loss", "", {"step": 0, "beside": True})
    script, trained = Script("train.py", TEXT), steps(DifferenceSeen(together, predictions))
    return list(RULE.look(Recording([script, trained, Answer(question, said)])))


def test_predictions_with_an_axis_too_many() -> None:
    (finding,) = found((8, 1), (8,), (8, 8))
    assert finding.place == Place("train.py", 2)
    assert finding.headline.startswith("`pred` is (8, 1) and `y` is (8,)")
    (fix,) = finding.fixes
    assert fix.text == "Take the axis away: `.squeeze(-1)` on `pred`."
    assert fix.must == DifferenceOver((8,), (8, 8), 8)


def test_targets_with_an_axis_too_many() -> None:
    (finding,) = found((8,), (8, 1), (8, 8))
    assert finding.fixes[0].text == "Take the axis away: `.squeeze(-1)` on `y`."


@pytest.mark.parametrize(
    ("predictions", "targets", "together"),
    [
        ((8,), (8,), (8,)),
        ((8, 1), (8, 1), (8, 1)),
        ((8, 1), (1, 8), (8, 8)),  # both have the axis: written for all pairs
        ((8, 1), (5,), (8, 5)),  # against a grid
        ((1, 1), (1,), (1, 1)),  # a batch of one row
    ],
)
def test_silence(predictions: Shape, targets: Shape, together: Shape) -> None:
    assert found(predictions, targets, together) == []


def test_all_pairs_that_are_meant() -> None:
    assert found((8, 1), (8,), (8, 8), both=True) == []
    before = learnt(operation(4, "linear", (8,), (), 1))
    assert found((8, 1), (8,), (8, 8), before, made="unsqueeze") == []
    assert found((8, 1), (8,), (8, 8), then="matmul") == []


def test_no_second_run_is_asked_for_without_need() -> None:
    seen = Recording([Script("train.py", TEXT), steps(DifferenceSeen((8,), (8,)))])
    assert list(RULE.look(seen)) == []
    assert seen.open_questions == []


@pytest.mark.parametrize(
    ("shape", "side", "spread"),
    [
        ((8, 8), (8, 1), True),
        ((8, 8), (8,), True),
        ((4, 8, 8), (4, 8, 1), True),
        ((8, 8), (8, 8), False),
        ((8, 5), (8, 1), False),
        ((8,), (), False),
    ],
)
def test_spread(shape: Shape, side: Shape, spread: bool) -> None:
    assert is_spread(shape, side) is spread


def test_the_patched_loss_is_over_the_rows() -> None:
    must = DifferenceOver((8,), (8, 8), 8)
    before = Recording([steps(DifferenceSeen((8, 8), (8, 1)))])
    assert must.judge(before, Recording([steps(DifferenceSeen((8,), (8,)))])).held
    assert not must.judge(before, before).held
    assert not must.judge(before, Recording([steps()])).decided
