"""Weights of classes against the numbers of their rows."""

import pytest

from surefit.laws.losses.class_weights import are_compared, grows_with_rows, is_in_other_order

ROWS = (84, 1120, 190)


@pytest.mark.parametrize(
    ("weights", "moved", "grows"),
    [
        ((5.53, 0.415, 2.45), False, False),
        ((0.415, 2.45, 5.53), True, False),
        ((0.109, 0.0299, 0.0726), False, False),
        ((0.0299, 0.109, 0.0726), True, False),
        ((0.06, 0.803, 0.136), False, True),
        ((1.0, 1.0, 1.0), False, False),
        ((1.0, 40.0, 2.0), False, False),
    ],
)
def test_orders(weights: tuple[float, ...], moved: bool, grows: bool) -> None:
    """Inverse to the rows, and to the root of them; in the right order and in others."""
    compared = are_compared(ROWS, weights)
    assert (compared and is_in_other_order(ROWS, weights)) is moved
    assert (compared and grows_with_rows(ROWS, weights)) is grows


@pytest.mark.parametrize("rows", [(), (5, 900), (400, 410, 420)])
def test_too_few_to_tell(rows: tuple[int, ...]) -> None:
    assert not are_compared(rows, tuple(float(1 + number) for number in range(len(rows))))
