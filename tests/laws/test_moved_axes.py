"""Sizes of a view that only splits and joins neighbours, and of one that was to move axes."""

import pytest

from surefit.laws.invariants.operation_axes import moved_order, nests, order_of


@pytest.mark.parametrize(
    ("before", "after", "order"),
    [
        ((7, 24, 50), (7, 50, 24), (0, 2, 1)),
        ((7, 32, 32, 3), (7, 3, 32, 32), (0, 3, 1, 2)),
        ((7, 4, 10, 8), (7, 10, 32), (0, 2, 1, 3)),
        ((7, 10, 32), (7, 4, 10, 8), (0, 2, 1, 3)),
        ((7, 24, 1, 50), (7, 50, 24), (0, 2, 1)),
    ],
)
def test_axes_that_were_to_move(
    before: tuple[int, ...], after: tuple[int, ...], order: tuple[int, ...]
) -> None:
    assert not nests(before, after)
    assert moved_order(before, after, 7) == order


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ((7, 10, 32), (7, 10, 4, 8)),
        ((7, 10, 4, 8), (7, 10, 32)),
        ((7, 3, 28, 28), (7, 2352)),
        ((7, 1200), (7, 24, 50)),
        ((7, 16, 4), (7, 4, 16)),
        ((7, 8, 6, 6), (7, 4, 2, 6, 6)),
    ],
)
def test_neighbours_that_are_split_and_joined(
    before: tuple[int, ...], after: tuple[int, ...]
) -> None:
    assert nests(before, after)


def test_a_batch_that_does_not_stay_first_is_judged_by_its_rows() -> None:
    assert moved_order((20, 7, 8), (7, 20, 8), 7) == ()


def test_sizes_that_are_no_products_of_axes_have_no_order() -> None:
    assert order_of((7, 6, 10), (7, 12, 5)) == ()
    assert moved_order((7, 6, 10), (7, 15, 4), 7) == ()
