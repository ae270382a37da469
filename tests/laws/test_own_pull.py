"""Every prediction is moved towards its own target, judged on what was measured."""

from dataclasses import replace

import pytest

from surefit.doctor.findings import Place
from surefit.doctor.measures.output_pulls import OutputPulls, PulledOutput, TargetPull, UnpulledPart
from surefit.doctor.observations import Process
from surefit.doctor.recording import Recording
from surefit.laws.case import Case
from surefit.laws.invariants import own_pull

CLASSES = TargetPull(
    target="1",
    kind="classes",
    shape=(32,),
    looked=8,
    judged=256,
    towards=256,
    steps_away=0,
    steps_over_rows=0,
    steps_least=0,
    steps_of_others={},
)
POSITIONS = replace(CLASSES, shape=(32, 12))
NUMBERS = replace(CLASSES, kind="numbers", shape=(32, 3))
AWAY = replace(CLASSES, towards=0, steps_away=8)


def kinds(*targets: TargetPull, padding_alone: int = 0) -> list[str]:
    output = PulledOutput(
        model="Net",
        output="",
        place=Place("train.py", 3),
        backward=Place("train.py", 5),
        shape=(32, 5),
        looked=8,
        step=40,
        padding_alone=padding_alone,
        padded=8,
        targets=targets,
    )
    seen = Recording([OutputPulls(process=Process(1), outputs=(output,))])
    return [type(broken).__name__ for broken in own_pull.violations_of(Case(seen))]


def cut(target: TargetPull, axis: int, size: int, *indices: int) -> TargetPull:
    return replace(target, left_out=(UnpulledPart(axis=axis, size=size, indices=indices),))


def test_a_healthy_run() -> None:
    assert kinds(CLASSES) == []
    assert kinds() == []


@pytest.mark.parametrize(
    ("target", "kind"),
    [
        (AWAY, "PushedAway"),
        (replace(CLASSES, steps_over_rows=8), "RowsCompete"),
        (replace(CLASSES, towards=3, steps_least=8), "LabelWantedLeast"),
        (replace(CLASSES, towards=60, steps_of_others={"the next row": 8}), "TargetsOfOtherRows"),
        (cut(CLASSES, 0, 32, 31), "NotPulled"),
        (cut(CLASSES, 0, 32, *range(1, 32)), "NotPulled"),
        (cut(CLASSES, 0, 32, *range(16, 32)), "NotPulled"),
        (cut(POSITIONS, 1, 12, 11), "NotPulled"),
        (cut(NUMBERS, 1, 3, 1, 2), "NotPulled"),
    ],
)
def test_ways_to_break_it(target: TargetPull, kind: str) -> None:
    assert kinds(target) == [kind]
    assert kinds(replace(target, looked=3)) == []


@pytest.mark.parametrize(
    "target",
    [
        replace(AWAY, steps_away=7),
        replace(CLASSES, towards=100, steps_over_rows=8),
        cut(CLASSES, 0, 32, 3, 9, 17),
        cut(replace(CLASSES, repeats=True), 0, 32, *range(16, 32)),
        cut(POSITIONS, 1, 12, 0, 1, 2, 3),
        cut(POSITIONS, 1, 12, 0, 11),
        cut(replace(NUMBERS, shape=(32, 12, 3)), 1, 12, 0),
        cut(replace(CLASSES, towards=200), 0, 32, 31),
    ],
)
def test_what_healthy_runs_show_too(target: TargetPull) -> None:
    """Some steps only; all pairs of rows; chosen by content; a margin on one batch; a warm-up;
    both edges; a first step without a history; targets that are not these."""
    assert kinds(target) == []


def test_a_model_that_is_trained_towards_other_targets_is_not_pushed_away() -> None:
    """A loss can be given other labels than those of the batch."""
    assert kinds(AWAY, CLASSES) == []


def test_padding_must_be_alone_at_every_step() -> None:
    assert kinds(padding_alone=8) == ["PaddingAlone"]
    assert kinds(padding_alone=7) == []
