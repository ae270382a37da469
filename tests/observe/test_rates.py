"""Epochs end with a loader that was learned from; rates that stay are asked seldom."""

from collections.abc import Iterator
from itertools import pairwise
from types import SimpleNamespace

import pytest

from surefit.observe.inside import events
from surefit.observe.inside.measuring import rates


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    rates.forget_parent()
    events.forget_parent()
    yield
    rates.forget_parent()
    events.forget_parent()


def loader(rows: object, *, ahead: bool = False, learns: bool = True, batches: int = 3) -> None:
    iterator = SimpleNamespace(_dataset=rows)
    for number in range(batches):
        rates.comes_a_batch(iterator, "a batch")
        if learns and number >= ahead:
            rates.after_the_pass()
    rates.comes_a_batch(iterator, None)
    if learns and ahead:
        rates.after_the_pass()


@pytest.mark.parametrize("ahead", [False, True])
def test_an_evaluation_is_no_epoch(ahead: bool) -> None:
    rows, held_out = ["train"], ["held out"]
    for _ in range(4):
        loader(rows, ahead=ahead)
        loader(held_out, learns=False)
    assert rates.seen.epochs == 4
    assert len(rates.seen.datasets) == 1


def test_two_loaders_in_turn() -> None:
    first, second = ["a"], ["b"]
    for _ in range(3):
        loader(first)
        loader(second)
    assert rates.seen.epochs == 6


class Steps:
    """An optimizer that only steps."""

    def __init__(self) -> None:
        self.defaults = {"lr": 0.1}
        self.param_groups = [{"lr": 0.1, "params": []}]
        self.asked = 0

    def step(self, times: int = 1) -> None:
        for _ in range(times):
            events.step_begun.count += 1
            if rates.before_the_step not in events.step_begun.resting:
                self.asked += 1
            if events.step_begun.count >= events.step_begun.due:
                rates_alone()
                events.call(events.step_begun, self)


def rates_alone() -> None:
    for listener in events.step_begun.active:
        if listener is not rates.before_the_step:
            events.step_begun.rest(listener)


def test_a_rate_that_stays_is_asked_seldom_and_every_step_is_counted() -> None:
    optimizer = Steps()
    optimizer.step(4000)
    (course,) = [course.as_seen() for course in rates.seen.by_serial.values()]
    assert course.steps == 4000
    assert optimizer.asked < 1500
    gaps = {later - earlier for (earlier, _), (later, _) in pairwise(course.course[:-1])}
    assert gaps == {16}


def test_a_second_optimizer_ends_the_rest_of_the_first() -> None:
    first, second = Steps(), Steps()
    first.step(4003)
    events.tell(events.optimizer_came, second)
    for _ in range(10):
        second.step()
        first.step()
    steps = [course.as_seen().steps for course in rates.seen.by_serial.values()]
    assert steps == [4013, 10]


def test_a_rate_that_changes_is_seen_within_eight_steps() -> None:
    optimizer = Steps()
    optimizer.step(4003)
    optimizer.param_groups[0]["lr"] = 0.01
    optimizer.step(8)
    (course,) = rates.seen.by_serial.values()
    assert (course.last, course.fallen) == (0.01, 1)
