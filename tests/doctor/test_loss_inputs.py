"""What a loss is given after a patch, held against what it must be given."""

from dataclasses import replace

import pytest

from surefit.doctor.conditions.loss_inputs import LossGets
from surefit.doctor.findings import Place
from surefit.doctor.observations import Crash, LossCall, LossGiven, Process, Script, Steps
from surefit.doctor.recording import Recording

TEXT = "loss = criterion(model(x), y)\n"
PLACE = Place("train.py", 1)
BEFORE = Recording([Script("train.py", TEXT), Crash("1-1", 1.0, Process(1), "E", "E", steps=2)])
RIGHT = LossGiven(2, (8, 3), "float32", (8,), "int64", 8, 7.0)
GETS = LossGets(
    name="cross_entropy",
    place=PLACE,
    target_shape=(8,),
    target_dtypes=("int64",),
    supervised=8,
    total=7.0,
)


def after(*each: LossGiven, line: int = 1) -> Recording:
    place = Place("train.py", line)
    call = LossCall("cross_entropy", place, len(each), len(each), 8, 8, each=each)
    steps = Steps(Process(2), 3, 1.0, 3, {}, (), backwards=1, loss_calls=(call,))
    return Recording([Script("train.py", TEXT), steps])


def test_the_same_labels_arrive() -> None:
    smaller = replace(RIGHT, step=3, shape=(5, 3), target_shape=(5,), supervised=5, total=2.0)
    judged = GETS.judge(BEFORE, after(RIGHT, smaller))
    assert judged.held
    assert judged.said == (
        "`cross_entropy` gets int64 targets (8,) for predictions (8, 3), all 8 labels, the same"
        " ones; 2 calls in all"
    )


@pytest.mark.parametrize(
    "one",
    [
        replace(RIGHT, target_shape=(8, 1)),
        replace(RIGHT, target_dtype="float32"),
        replace(RIGHT, supervised=7),
        replace(RIGHT, total=8.0),
    ],
    ids=["shape", "kind", "lost", "others"],
)
def test_other_labels_do_not_hold(one: LossGiven) -> None:
    judged = GETS.judge(BEFORE, after(one))
    assert (judged.held, judged.decided) == (False, True)


def test_a_later_call_of_another_kind_does_not_hold() -> None:
    assert not GETS.judge(BEFORE, after(RIGHT, replace(RIGHT, target_shape=(8, 1)))).held


@pytest.mark.parametrize(
    "seen",
    [after(), after(replace(RIGHT, step=1)), after(RIGHT, line=9)],
    ids=["no call", "before the fault", "another line"],
)
def test_nothing_is_decided_without_a_call(seen: Recording) -> None:
    judged = GETS.judge(BEFORE, seen)
    assert (judged.held, judged.decided) == (False, False)


def test_too_few_labels_show_nothing() -> None:
    judged = replace(GETS, at_least=12).judge(BEFORE, after(RIGHT))
    assert (judged.held, judged.decided) == (False, False)
    assert replace(GETS, at_least=12).judge(BEFORE, after(RIGHT, RIGHT)).held


def test_both_sides_agree_at_any_size() -> None:
    gets = LossGets(name="cross_entropy", place=PLACE, target_shape=(4,), shape=(4,), any_size=True)
    assert gets.judge(BEFORE, after(replace(RIGHT, shape=(8,)))).held
    assert not gets.judge(BEFORE, after(replace(RIGHT, shape=(8, 1)))).held
