"""What could have been done to the axes: nothing that was done is ever ruled out."""

from hypothesis import assume, given
from hypothesis import strategies as st

from surefit.laws.layers.width_arithmetic import (
    axes_as_wide,
    axes_that_make,
    items_in_a_row,
)

shapes = st.lists(st.integers(1, 20), min_size=2, max_size=3)


@given(shapes, st.data())
def test_swapped_axes_are_found(shape: list[int], data: st.DataObject) -> None:
    width = shape[-1]
    axis = data.draw(st.integers(0, len(shape) - 2))
    swapped = list(shape)
    swapped[axis], swapped[-1] = swapped[-1], swapped[axis]
    assume(swapped[-1] != width)
    assert axis in axes_as_wide(swapped, len(shape) - 1, width)


@given(shapes)
def test_joined_rows_are_counted(shape: list[int]) -> None:
    *_, items, width = shape
    assume(items > 1)
    assert items_in_a_row(items * width, width) == items


@given(shapes)
def test_axes_that_were_not_joined_are_found(shape: list[int]) -> None:
    width = shape[-2] * shape[-1]
    assume(width != shape[-1])
    assert axes_that_make(shape, width) == 2


def test_the_numbers_of_other_data() -> None:
    shape = (256, 999, 4000)
    assert axes_as_wide(shape, 2, 271) == []
    assert items_in_a_row(4000, 271) is None
    assert axes_that_make(shape, 271) is None
