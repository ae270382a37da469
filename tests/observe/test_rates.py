"""Epochs are counted where a loader ends that was learned from."""

from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from surefit.observe.inside.measuring import rates


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    rates.forget_parent()
    yield
    rates.forget_parent()


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
