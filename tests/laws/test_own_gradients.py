"""The law of own gradients on hand-made measures."""

from dataclasses import replace
from typing import Any

import pytest

from surefit.doctor.findings import Place
from surefit.doctor.measures.gradients import GradientClip, GradientUse, StepGradients
from surefit.doctor.observations import Process, Script
from surefit.doctor.recording import Recording
from surefit.laws.case import Case
from surefit.laws.invariants import own_gradients
from surefit.observe.inside.measuring import clipped

SOURCE = """
for i, (x, y) in enumerate(loader):
    loss = criterion(model(x), y)
    loss.backward()
    if (i + 1) % accumulate == 0:
        optimizer.step()
        optimizer.zero_grad()
"""
AT = Place("train.py", 6)
HEALTHY = StepGradients(
    kind="SGD",
    serial=7,
    made_at=Place("train.py", 1),
    scale_free=False,
    steps=40,
    looked=30,
    own=30,
    groups=((1, 30),),
    sampled=("weight", "bias"),
    passes_at=((Place("train.py", 4), 30),),
    stepped_at=((AT, 30),),
    cleared_at=((Place("train.py", 7), 30),),
)
USE = GradientUse(process=Process(), steps=40, passes=40, cleared=40, scaled=False, ended=True)


def broken(use: GradientUse = USE, source: str = SOURCE, **optimizer: Any) -> list[str]:
    found = replace(use, optimizers=(replace(HEALTHY, **optimizer),))
    recording = Recording([Script("train.py", source, main=True), found])
    return [type(known).__name__ for known in own_gradients.violations_of(Case(recording))]


def test_a_healthy_run_breaks_nothing() -> None:
    assert broken() == []


@pytest.mark.parametrize(
    ("counts", "kind"),
    [
        ({"own": 0, "carried": 30, "most_passes": 30}, "GradientsCarriedOver"),
        ({"own": 6, "carried": 24, "most_passes": 5}, "GradientsCarriedOver"),
        ({"own": 0, "emptied": 30}, "GradientsClearedBeforeStep"),
        ({"own": 15, "again": 15}, "GradientsUsedAgain"),
        ({"doubled": 30}, "LossUsedTwice"),
        ({"own": 0, "cut": 30, "groups": ((4, 30),)}, "AccumulationCleared"),
        ({"groups": ((4, 30),), "undivided": 120}, "AccumulationNotAveraged"),
    ],
)
def test_each_way_to_break_it(counts: dict[str, Any], kind: str) -> None:
    assert broken(**counts) == [kind]


@pytest.mark.parametrize(
    "counts",
    [
        {"own": 28, "carried": 2},
        {"own": 0, "carried": 15, "by_hand": 15},
        {"groups": ((4, 30),), "undivided": 120, "scale_free": True},
        {"groups": ((4, 30),), "undivided": 60, "divided": 60},
        {"groups": ((4, 15), (1, 15)), "undivided": 75},
    ],
)
def test_what_can_be_meant_is_not_reported(counts: dict[str, Any]) -> None:
    assert broken(**counts) == []


def test_a_source_that_divides_by_the_number_of_batches_is_not_accused() -> None:
    divided = SOURCE.replace("loss.backward()", "loss = loss / accumulate; loss.backward()")
    assert broken(source=divided, groups=((4, 30),), undivided=120) == []


def test_several_passes_over_one_batch_are_no_accumulation() -> None:
    no_remainder = SOURCE.replace("(i + 1) % accumulate == 0", "inner == last")
    counts: dict[str, Any] = {"own": 0, "cut": 30, "groups": ((4, 30),)}
    assert broken(source=no_remainder, **counts) == []
    assert broken(source=no_remainder, fed=30, **counts) == ["AccumulationCleared"]


def test_clips_at_the_wrong_time() -> None:
    clip = GradientClip(bound=1.0, scale=65536.0, place=AT)
    scaled = replace(USE, clips=40, clipped_scaled=40, wrong_clip=clip)
    assert broken(scaled) == ["ClippedWhileScaled"]
    late = replace(USE, clips=40, clipped_late=40, wrong_clip=replace(clip, scale=1.0))
    assert broken(late) == ["ClippedAfterStep"]
    assert broken(replace(late, clips=80)) == []


def test_clips_that_get_nothing() -> None:
    clip = GradientClip(bound=1.0, place=AT)
    spent = replace(USE, clips=40, clipped_spent=39, idle_clip=clip)
    assert broken(spent) == ["ClippedNothing"]
    assert broken(replace(spent, clips=400)) == ["ClippedNothing"]
    assert broken(replace(spent, clipped_spent=2)) == []
    empty = replace(USE, clips=40, clipped_none=40, idle_clip=clip)
    assert broken(empty) == ["ClippedNothing"]
    assert broken(replace(empty, clips=80)) == []  # one of two groups is frozen


def test_iterators_are_looked_at_and_not_used() -> None:
    numbers = (number for number in range(3))
    kept = filter(None, map(abs, numbers))
    assert not clipped.is_spent(numbers)
    assert not clipped.is_spent(kept)
    assert list(kept) == [1, 2]
    assert clipped.is_spent(numbers)
    assert clipped.is_spent(kept)
    assert clipped.is_without_gradients([])
    assert not clipped.is_without_gradients(numbers)


def test_the_end_of_an_epoch_counts_from_a_tenth_on() -> None:
    ends = replace(USE, epochs=5, dropped_epochs=5, dropped=15, in_epochs=55)
    assert broken(ends, steps=10, groups=((4, 20),), own=20, looked=20) == ["LastGroupDropped"]
    assert broken(replace(ends, in_epochs=555), groups=((4, 20),)) == []


def test_gradients_cleared_between_epochs_are_the_last_group() -> None:
    ends = replace(USE, epochs=14, dropped_epochs=14, dropped=98, in_epochs=210, cleared=28)
    lines = ((Place("train.py", 39), 14), (Place("train.py", 31), 13))
    parts: dict[str, Any] = {
        "steps": 14,
        "looked": 13,
        "own": 0,
        "cut": 13,
        "fed": 13,
        "groups": ((15, 13),),
    }
    assert broken(ends, cleared_at=lines, **parts) == ["LastGroupDropped"]
    every = ((Place("train.py", 31), 210),)
    assert "AccumulationCleared" in broken(ends, cleared_at=every, **parts)


def test_what_it_was_measured_on() -> None:
    found = replace(USE, optimizers=(HEALTHY,))
    assert own_gradients.watched(Recording([found])).on == "2 parameters at 30 steps"
    assert own_gradients.watched(Recording([])).why_not == "no step was taken"
