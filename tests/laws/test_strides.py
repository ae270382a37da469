"""The arithmetic of strides, held against torch itself."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from surefit.laws.operations.strides import (
    can_view,
    contiguous_strides,
    inferred,
)

sizes = st.lists(st.integers(1, 4), min_size=1, max_size=4)


@st.composite
def tensors(draw: st.DrawFn) -> torch.Tensor:
    """Slices, transpositions and expansions of a contiguous tensor, one upon the other."""
    tensor = torch.arange(4**4).view(4, 4, 4, 4)
    for _ in range(draw(st.integers(0, 3))):
        axis = draw(st.integers(0, tensor.ndim - 1))
        other = draw(st.integers(0, tensor.ndim - 1))
        step = draw(st.sampled_from(["slice", "transpose", "expand", "select"]))
        if step == "slice":
            begin = draw(st.integers(0, tensor.shape[axis] - 1))
            tensor = tensor.narrow(axis, begin, draw(st.integers(1, tensor.shape[axis] - begin)))
        elif step == "transpose":
            tensor = tensor.transpose(axis, other)
        elif step == "expand":
            tensor = tensor.unsqueeze(0).expand(draw(st.integers(1, 3)), *tensor.shape)
        elif tensor.ndim > 1:
            tensor = tensor.select(axis, 0)
    return tensor


@st.composite
def shapes_of(draw: st.DrawFn, count: int) -> list[int]:
    """A shape with so many elements, ones among its sizes."""
    shape: list[int] = []
    while count > 1:
        divisors = [size for size in range(2, count + 1) if count % size == 0]
        shape.append(draw(st.sampled_from(divisors)))
        count //= shape[-1]
        if draw(st.booleans()):
            shape.append(1)
    return shape or [1]


@given(st.data())
def test_a_view_is_possible_exactly_where_torch_makes_it(data: st.DataObject) -> None:
    tensor = data.draw(tensors())
    target = data.draw(shapes_of(tensor.numel()))
    try:
        tensor.view(target)
        possible = True
    except RuntimeError:
        possible = False
    assert can_view(tensor.shape, tensor.stride(), target) is possible


@given(sizes)
def test_strides_of_a_new_tensor(shape: list[int]) -> None:
    assert contiguous_strides(shape) == torch.empty(shape).stride()


def test_a_slice_of_one_row_can_be_flattened_and_one_of_two_cannot() -> None:
    labels = torch.zeros(2, 24)[:, 1:]
    assert not can_view(labels.shape, labels.stride(), (46,))
    assert can_view((1, 23), labels.stride(), (23,))


@pytest.mark.parametrize(
    ("shape", "target", "filled"),
    [
        ((2, 6), (-1,), (12,)),
        ((2, 6), (4, -1), (4, 3)),
        ((2, 6), (5, -1), None),
        ((2, 6), (3, 4), (3, 4)),
        ((2, 6), (3, 5), None),
        ((2, 6), (-1, -1), None),
    ],
)
def test_minus_one_is_filled_in(
    shape: tuple[int, ...], target: tuple[int, ...], filled: tuple[int, ...] | None
) -> None:
    assert inferred(shape, target) == filled
