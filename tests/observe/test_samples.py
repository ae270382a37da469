"""Sampled elements, and the distance between numbers."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as some

from surefit.observe.inside.training import samples

DTYPES = {torch.float32: torch.int32, torch.float64: torch.int64, torch.bfloat16: torch.int16}


@given(
    rows=some.integers(1, 300),
    columns=some.integers(1, 300),
    turn=some.integers(0, 10_000),
)
def test_spots_lie_inside_and_apart(rows: int, columns: int, turn: int) -> None:
    tensor = torch.arange(rows * columns).reshape(rows, columns)
    spots = samples.spots(tensor, turn)
    assert spots is not None
    found = spots.view(tensor).tolist()
    assert len(set(found)) == len(found) == min(samples.SIZE, rows * columns)
    assert 0 <= min(found) <= max(found) < rows * columns


def test_spots_are_the_same_places_of_a_part_and_in_any_order_of_axes() -> None:
    whole = torch.arange(2000.0).reshape(2, 1000)
    spots = samples.spots(whole[1], 3)
    assert spots is not None
    assert spots.view(whole[1]).min() >= 1000
    turned = torch.randn(8, 3, 16, 16).to(memory_format=torch.channels_last)
    found = samples.spots(turned, 5)
    assert found is not None
    assert set(found.view(turned).tolist()) <= set(turned.flatten().tolist())


def test_scattered_and_empty_tensors_have_none() -> None:
    assert samples.spots(torch.zeros(10, 10)[:, ::2], 0) is None
    assert samples.spots(torch.zeros(4).expand(3, 4), 0) is None
    assert samples.spots(torch.zeros(0), 0) is None


def test_every_column_is_met_in_time() -> None:
    matrix = torch.arange(512 * 512).reshape(512, 512)
    met: set[int] = set()
    for turn in range(200):
        spots = samples.spots(matrix, turn)
        assert spots is not None
        met |= {place % 512 for place in spots.view(matrix).tolist()}
    assert len(met) == 512


@pytest.mark.parametrize("dtype", DTYPES)
def test_spacing_is_the_distance_to_the_next_number(dtype: torch.dtype) -> None:
    values = torch.tensor([1.0, 1.5, -3.0, 0.1, 1000.0, 1e-3], dtype=dtype)
    bits = values.abs().view(DTYPES[dtype])
    expected = ((bits + 1).view(dtype).double() - values.abs().double()).tolist()
    assert samples.spacing(values).tolist() == pytest.approx(expected)


def test_spacing_of_half_precision_below_its_normal_numbers() -> None:
    (found,) = samples.spacing(torch.tensor([1e-6], dtype=torch.float16)).tolist()
    assert found == pytest.approx(math.ldexp(1.0, -24))
