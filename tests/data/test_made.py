"""A sequence that makes its items behaves as a tuple of them would."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefit.data.made import Chosen, Made

places = st.integers(-12, 12)


@given(count=st.integers(0, 9), at=places)
def test_places_are_those_of_a_tuple(count: int, at: int) -> None:
    made, plain = Made(count, str), tuple(map(str, range(count)))
    if -count <= at < count:
        assert made[at] == plain[at]
    else:
        with pytest.raises(IndexError):
            made[at]
    assert list(made) == list(plain)
    assert list(reversed(made)) == list(reversed(plain))


@given(
    count=st.integers(0, 9),
    begin=st.none() | places,
    end=st.none() | places,
    step=st.none() | places.filter(bool),
)
def test_slices_are_those_of_a_tuple(
    count: int, begin: int | None, end: int | None, step: int | None
) -> None:
    made, plain = Made(count, str), tuple(map(str, range(count)))
    assert made[begin:end:step] == plain[begin:end:step]


def test_equal_to_sequences_of_equal_items_and_to_nothing_else() -> None:
    made = Made(2, str)
    assert made == ["0", "1"]
    assert made != ()
    assert made != "01"
    assert made != ("0", "2")


def test_items_are_made_when_they_are_asked_for() -> None:
    asked: list[int] = []
    made = Made(100, asked.append)[10:20]
    assert (len(made), asked) == (10, [])
    made[-1]
    assert asked == [19]


def test_chosen_items() -> None:
    import numpy as np

    some = Chosen("abcdef", np.array([4, 1, 1]))
    assert some == ["e", "b", "b"]
    assert some.places.tolist() == [4, 1, 1]
