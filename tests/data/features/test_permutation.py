"""Every index goes to a place of its own, and the key decides to which."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from surefit.data.features.permutation import key_of, permuted


@given(count=st.integers(1, 3000), key=st.integers(0, 2**64 - 1))
def test_no_two_go_to_one_place(count: int, key: int) -> None:
    assert sorted(permuted(np.arange(count), count, key).tolist()) == list(range(count))


@given(count=st.integers(1, 2**50), key=st.integers(0, 2**64 - 1), data=st.data())
def test_some_go_where_they_go_among_all(count: int, key: int, data: st.DataObject) -> None:
    some = data.draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=20, unique=True))
    together = permuted(np.array(some), count, key)
    alone = [permuted(np.array([one]), count, key)[0] for one in some]
    assert together.tolist() == alone
    assert len(set(alone)) == len(some)
    assert min(alone) >= 0
    assert max(alone) < count


def test_small_ones_are_all_there_and_as_likely() -> None:
    found = np.array([permuted(np.arange(5), 5, key_of(7, key)) for key in range(2000)])
    assert len({tuple(one) for one in found.tolist()}) == 120
    shares = np.array([[np.mean(found[:, at] == item) for item in range(5)] for at in range(5)])
    assert np.abs(shares - 0.2).max() < 0.03


def test_neighbours_part() -> None:
    count = 100_000
    places = permuted(np.arange(count), count, key_of(1)).astype(float)
    assert abs(np.corrcoef(places[1:], places[:-1])[0, 1]) < 0.01
    assert abs(np.corrcoef(places, np.arange(count))[0, 1]) < 0.01


def test_it_stays_the_same_for_ever() -> None:
    """A run is gone on with under other versions of everything."""
    assert permuted(np.arange(8), 8, key_of(0, 1, 2)).tolist() == [5, 6, 0, 2, 3, 4, 1, 7]
    assert permuted(np.arange(100), 100, key_of(5))[:6].tolist() == [10, 83, 17, 33, 93, 43]
    far = permuted(np.array([0, 123_456_789]), 10**12, key_of(42))
    assert far.tolist() == [212320638611, 957970302197]
