"""How letters become cycles."""

from collections.abc import Iterator

import pytest

from surefit.observe.inside.training import letters
from surefit.observe.inside.training.letters import (
    CUT,
    LONGEST,
    MOST_CYCLES,
    end_cycle,
    note,
    noted,
    stepped,
)


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    letters.forget_parent()
    yield
    letters.forget_parent()


def write(events: str) -> None:
    for letter in events:
        if letter == "S":
            stepped()
        else:
            note(letter)


def test_letters_between_two_steps_are_a_cycle() -> None:
    write("ZTBSZTBSTBTBZS")
    assert noted.cycles == {"ZTBS": 2, "TBTBZS": 1}
    assert (noted.steps, noted.events) == (3, 14)


def test_equal_forwards_and_clippings_in_a_row_are_one() -> None:
    write("eeeeZTTBBCCS")
    assert noted.cycles == {"eZTBBCS": 1}


def test_a_long_cycle_keeps_its_ends() -> None:
    write("Z" + "TB" * 100_000 + "C")
    end_cycle()
    (cycle,) = noted.cycles
    assert len(cycle) == LONGEST + 1
    assert cycle.startswith("ZTBTB")
    assert cycle.endswith("TBTBC")
    assert CUT in cycle


def test_cycles_of_too_many_kinds_are_counted_together() -> None:
    for length in range(1, MOST_CYCLES + 11):
        write("B" * length + "S")
    assert len(noted.cycles) == MOST_CYCLES + 1
    assert noted.cycles[CUT] == 10
