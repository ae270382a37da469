"""Masks follow from seed, epoch and row alone."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from surefit.data.features.masks import masked_steps


@settings(max_examples=40, deadline=None)
@given(
    rows=st.lists(st.integers(0, 2**40), min_size=1, max_size=30),
    steps=st.integers(2, 30),
    share=st.floats(0, 0.9),
    seed=st.integers(0, 2**62),
    epoch=st.integers(0, 1000),
)
def test_each_row_has_its_own_mask_and_shows_something(
    rows: list[int], steps: int, share: float, seed: int, epoch: int
) -> None:
    masked = masked_steps(np.array(rows), steps, share, seed, epoch)
    assert masked.shape == (len(rows), steps)
    assert masked.any(axis=1).all()
    assert not masked.all(axis=1).any()
    for at, row in enumerate(rows):
        alone = masked_steps(np.array([row]), steps, share, seed, epoch)
        np.testing.assert_array_equal(masked[at], alone[0])


def test_the_share_is_kept_and_epochs_differ() -> None:
    rows = np.arange(20_000)
    first, second = (masked_steps(rows, 20, 0.15, 0, epoch) for epoch in (0, 1))
    assert abs(first.mean() - 0.15) < 0.005
    assert abs((first & second).mean() - first.mean() * second.mean()) < 0.005
    assert abs(np.corrcoef(first[:-1].ravel(), first[1:].ravel())[0, 1]) < 0.01
