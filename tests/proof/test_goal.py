"""How far to go, and whether there is time."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefit.doctor.conditions.parameters import Moves
from surefit.doctor.findings import Finding, Place, Severity
from surefit.doctor.observations import Crash, Ended, Process, Steps
from surefit.doctor.recording import Recording
from surefit.proof.goal import Goal, goal_of, refuse_too_long
from surefit.proof.snapshot import CannotTry

MUST = Moves(("head",))


def first(taken: int, training: float = 8.0, whole: float = 10.0) -> Recording:
    steps = Steps(Process(1), taken, training, taken, {}, (), backwards=taken)
    return Recording([steps, Ended(("python", "x.py"), "x.py", 0, whole)])


def crashed(at: int, swallowed: bool = False) -> Recording:
    seen = first(at)
    crash = Crash("1", 5.0, Process(1), "ValueError", "no", steps=at, swallowed=swallowed)
    seen.observations.append(crash)
    return seen


def finding(about: str = "") -> Finding:
    return Finding("some-rule", "SF1", Severity.ERROR, Place("x.py", 1), "It.", about=about)


def test_two_steps_past_a_crash() -> None:
    assert goal_of(finding("1"), MUST, crashed(12), 60.0) == Goal(14, 12, True, 10.0)


def test_more_if_the_condition_wants_more() -> None:
    assert goal_of(finding("1"), replace(MUST, steps=30), crashed(12), 60.0).steps == 30


def test_past_the_first_swallowed_one() -> None:
    seen = crashed(100, swallowed=True)
    early = replace(next(seen.all(Crash)), id="2", steps=10)
    seen.observations.append(early)
    goal = goal_of(finding("2"), MUST, seen, 60.0)
    assert (goal.steps, goal.fault, goal.ended_the_run) == (12, 10, False)
    assert goal.seconds == pytest.approx(2.0 + 8.0 * 12 / 100)


@pytest.mark.parametrize(("taken", "steps"), [(0, 50), (3, 3), (50, 50), (4000, 50)])
def test_silent_faults_are_watched_for_a_while(taken: int, steps: int) -> None:
    goal = goal_of(finding(), MUST, first(taken), 60.0)
    assert (goal.steps, goal.fault, goal.ended_the_run) == (steps, 0, False)
    once = 2.0 + 8.0 * steps / taken if taken > 50 else 10.0
    assert goal.seconds == pytest.approx(2 * once)


def test_fewer_steps_where_there_is_little_time() -> None:
    slow = first(100, training=300.0, whole=302.0)
    goal = goal_of(finding(), MUST, slow, 60.0)
    assert (goal.steps, goal.seconds) == (5, 2 * (2.0 + 300.0 * 5 / 100))
    assert goal_of(finding(), MUST, slow, 100.0).steps == 6
    assert goal_of(finding(), replace(MUST, steps=40), slow, 60.0).steps == 40
    assert goal_of(finding(), MUST, first(100, 3000.0, 3002.0), 60.0).steps == 5


@given(
    taken=st.integers(0, 500),
    training=st.floats(0, 1e4),
    rest=st.floats(0, 1e3),
    left=st.floats(0.1, 600),
)
def test_no_run_is_meant_to_take_longer_than_the_first_run(
    taken: int, training: float, rest: float, left: float
) -> None:
    seen = first(taken, training, training + rest)
    goal = goal_of(finding(), MUST, seen, left)
    assert 0 < goal.steps <= 50
    assert 0 <= goal.seconds <= 2 * (training + rest) * (1 + 1e-9)


def test_too_long() -> None:
    refuse_too_long(Goal(14, 12, True, 57.0), 58.0, 60.0)
    with pytest.raises(CannotTry) as error:
        refuse_too_long(Goal(14, 12, True, 812.0), 58.0, 60.0)
    assert error.value.said == (
        "not tried: the fault came after 812 s, and 58 s are left of the 60 s for proofs; "
        "`--proof-seconds 1220` would do"
    )
    with pytest.raises(CannotTry, match="not tried: 40 steps came after 90 s, and 0 s are left"):
        refuse_too_long(Goal(40, 38, seconds=90.0), -3.0, 60.0)
    with pytest.raises(CannotTry, match="40 steps, without the fix and with it, take 90 s, and 5"):
        refuse_too_long(Goal(40, silent=True, seconds=90.0), 55.0, 60.0)


@given(seconds=st.floats(0.1, 1e5), left=st.floats(-5, 60))
def test_what_would_do_does(seconds: float, left: float) -> None:
    """With as many seconds as it asks for there is no refusal."""
    goal = Goal(3, 1, True, seconds)
    try:
        refuse_too_long(goal, left, 60.0)
    except CannotTry as error:
        enough = int(error.reason.partition("--proof-seconds ")[2].split("`")[0])
        refuse_too_long(goal, left + enough - 60.0, float(enough))
