"""Curves with few points lose no spike."""

from hypothesis import given
from hypothesis import strategies as st

from surefit.render.page.thinning import (
    MOST_POINTS,
    finite_or_none,
    points_per_stretch,
    running_means,
    thinned,
)

VALUES = st.lists(st.none() | st.floats(-1e6, 1e6), min_size=1, max_size=300)


@given(VALUES, st.integers(4, 60))
def test_lowest_highest_first_and_last_stay_in_their_order(
    values: list[float | None], most: int
) -> None:
    points = [(float(step), value) for step, value in enumerate(values)]
    kept = thinned(points, most)
    assert len(kept) <= most
    assert kept[0] == points[0]
    assert kept[-1] == points[-1]
    assert kept == sorted(kept, key=lambda point: point[0])
    assert set(kept) <= set(points)
    finite = [value for value in values if value is not None]
    if finite:
        drawn = [value for _, value in kept if value is not None]
        assert (min(drawn), max(drawn)) == (min(finite), max(finite))


def test_each_of_many_spikes_is_drawn() -> None:
    spikes = set(range(7, 100_000, 1_009))
    points = [(float(step), 100.0 if step in spikes else 1.0) for step in range(100_000)]
    kept = thinned(points)
    assert len(kept) <= MOST_POINTS
    assert {int(step) for step, value in kept if value == 100.0} == spikes
    assert points_per_stretch(len(points)) == 67


def test_a_mean_is_of_its_window_alone() -> None:
    """Also after a value so large that a running total would have lost all others."""
    points = [(float(step), value) for step, value in enumerate([1e300, 1.0, 2.0, 3.0, None, 5.0])]
    assert [value for _, value in running_means(points, 2)] == [1e300, 5e299, 1.5, 2.5, 3.0, 5.0]


def test_means_of_a_long_window_move_on_in_parts_of_it() -> None:
    means = running_means([(float(step), float(step)) for step in range(99)], 40)
    assert means[:3] == [(0.0, 0.0), (2.0, 1.0), (4.0, 2.0)]
    assert means[-1] == (98.0, sum(range(59, 99)) / 40)


def test_only_numbers_are_drawn() -> None:
    values = (1, 2.5, True, float("nan"), float("inf"), "3", None)
    assert [finite_or_none(value) for value in values] == [1.0, 2.5, *[None] * 5]
