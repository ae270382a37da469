"""Held-out rows: as many as asked for, spread evenly, never trained on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefit.data.features.held_out import split_rows
from surefit.errors import BadInput


@given(rows=st.integers(2, 5000), share=st.floats(0, 0.5), seed=st.integers(0, 99))
def test_every_row_is_on_one_side(rows: int, share: float, seed: int) -> None:
    found = split_rows(rows, share, seed, "folder")
    train = found.train_rows(np.arange(found.trained))
    held_out = found.held_out_rows(np.arange(found.held_out))
    assert sorted([*train.tolist(), *held_out.tolist()]) == list(range(rows))
    assert (np.diff(train) > 0).all()
    assert (np.diff(held_out) > 0).all()
    assert found.held_out == (max(1, round(rows * share)) if share else 0)


def test_they_are_spread_evenly() -> None:
    found = split_rows(1_000_000, 0.1, 0, "folder")
    held_out = found.held_out_rows(np.arange(found.held_out))
    shares = np.histogram(held_out, bins=100, range=(0, 1_000_000))[0] / 10_000
    assert abs(shares - 0.1).max() < 0.01


def test_another_seed_holds_out_others() -> None:
    one, other = (split_rows(1000, 0.1, seed, "folder") for seed in (0, 1))
    numbers = np.arange(100)
    assert one.held_out_rows(numbers).tolist() != other.held_out_rows(numbers).tolist()


def test_a_hundred_million_rows_are_told_apart_by_a_few_runs() -> None:
    found = split_rows(100_000_000, 0.1, 0, "folder")
    assert found._starts.nbytes + found._before.nbytes < 4_000_000


def test_nothing_to_train_on_is_refused() -> None:
    with pytest.raises(BadInput, match="No row is left to train on: 1 of 1 are held out"):
        split_rows(1, 0.1, 0, "folder")
