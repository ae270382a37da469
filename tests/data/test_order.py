"""Every row once an epoch, in an order that seed and epoch alone decide."""

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefit.data.order import WINDOW, epoch_batches, padding_waste, share

lengths = st.lists(st.integers(1, 512), max_size=300)
sizes = st.integers(1, 17)
epochs = st.integers(0, 20)


def log_normal_lengths(count: int, seed: int) -> list[int]:
    """As of the rows that people fine-tune on: a few are ten times as long as most."""
    chance = random.Random(seed)
    return [min(515, max(45, round(chance.lognormvariate(5.0, 0.6)))) for _ in range(count)]


@given(lengths=lengths, size=sizes, seed=st.integers(), epoch=epochs, bucket=st.booleans())
def test_every_row_comes_exactly_once(
    lengths: list[int], size: int, seed: int, epoch: int, bucket: bool
) -> None:
    batches = epoch_batches(lengths, size, seed, epoch, bucket=bucket)
    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    assert len(batches) == -(-len(lengths) // size)
    assert sorted(map(len, batches), reverse=True)[:-1] == [size] * (len(batches) - 1)


@given(lengths=lengths, size=sizes, seed=st.integers(), epoch=epochs, bucket=st.booleans())
def test_the_order_is_a_pure_function(
    lengths: list[int], size: int, seed: int, epoch: int, bucket: bool
) -> None:
    first = epoch_batches(lengths, size, seed, epoch, bucket=bucket)
    state = random.getstate()
    random.random()
    assert epoch_batches(lengths, size, seed, epoch, bucket=bucket) == first
    random.setstate(state)
    epoch_batches(lengths, size, seed, epoch, bucket=bucket)
    assert random.getstate() == state


@pytest.mark.parametrize("bucket", [False, True])
def test_another_epoch_and_another_seed_give_another_order(bucket: bool) -> None:
    rows = log_normal_lengths(200, 0)
    orders = [
        epoch_batches(rows, 4, seed, epoch, bucket=bucket)
        for seed, epoch in [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (10, 0), (-1, 0)]
    ]
    assert all(one != other for i, one in enumerate(orders) for other in orders[:i])
    # Not only the order of the batches: other rows meet.
    met = [{frozenset(batch) for batch in order} for order in orders]
    assert all(one != other for i, one in enumerate(met) for other in met[:i])


@pytest.mark.parametrize("seed", range(5))
def test_buckets_waste_little(seed: int) -> None:
    rows = log_normal_lengths(1000, seed)
    sorted_apart = padding_waste(rows, epoch_batches(rows, 4, seed, 0))
    shuffled = padding_waste(rows, epoch_batches(rows, 4, seed, 0, bucket=False))
    assert sorted_apart <= 0.025
    assert shuffled > 0.3


def test_rows_are_not_sorted_from_batch_to_batch() -> None:
    rows = log_normal_lengths(4 * WINDOW, 0)  # one window, sorted as a whole
    longest = [max(rows[row] for row in batch) for batch in epoch_batches(rows, 4, 0, 0)]
    rises = sum(one < other for one, other in pairwise(longest))
    assert WINDOW / 4 < rises < 3 * WINDOW / 4


def test_2700_rows_at_batch_4_are_675_steps() -> None:
    batches = epoch_batches(log_normal_lengths(2700, 0), 4, 0, 0)
    assert len(batches) == 675
    assert {len(batch) for batch in batches} == {4}
    assert 2700 % (4 * WINDOW), "so that a window is cut short, too"


@given(
    lengths=st.lists(st.integers(1, 50), min_size=1, max_size=40), size=sizes, seed=st.integers()
)
def test_waste_is_the_share_of_padding(lengths: list[int], size: int, seed: int) -> None:
    batches = epoch_batches(lengths, size, seed, 0)
    padding = places = 0
    for batch in batches:
        longest = max(lengths[row] for row in batch)
        padding += sum(longest - lengths[row] for row in batch)
        places += longest * len(batch)
    assert padding_waste(lengths, batches) == pytest.approx(padding / places)


def test_waste_by_hand() -> None:
    assert padding_waste([1, 3, 4, 4], [[0, 1], [2, 3]]) == pytest.approx(2 / 14)
    assert padding_waste([], []) == 0


@given(rows=st.integers(1, 60), world=st.integers(1, 9), most=st.integers(1, 9))
def test_processes_share_a_batch_without_overlap_or_loss(rows: int, world: int, most: int) -> None:
    shares = [share(range(rows), rank, world, most) for rank in range(world)]
    taken = [row for parts in shares for part in parts for row in part]
    assert sorted(taken) == list(range(rows))
    assert len({len(parts) for parts in shares}) == 1, "all must reduce together"
    assert all(len(part) <= most for parts in shares for part in parts)
    sizes = [sum(map(len, parts)) for parts in shares]
    assert max(sizes) - min(sizes) <= 1


@given(rows=st.integers(1, 60), world=st.integers(1, 9), most=st.integers(1, 9))
def test_no_part_is_empty_on_all_processes(rows: int, world: int, most: int) -> None:
    assert all(share(range(rows), 0, world, most))


@given(lengths=lengths, seed=st.integers(), epoch=epochs, bucket=st.booleans())
def test_an_epoch_in_any_number_of_processes_has_the_same_rows_in_the_same_steps(
    lengths: list[int], seed: int, epoch: int, bucket: bool
) -> None:
    """What a resume in mid-epoch with other processes rests on."""
    batches = epoch_batches(lengths, 8, seed, epoch, bucket=bucket)
    for world in (1, 2, 3, 8, 11):
        for batch in batches:
            parts = [part for rank in range(world) for part in share(batch, rank, world, 4)]
            assert sorted(row for part in parts for row in part) == sorted(batch)


def test_processes_have_rows_of_like_length() -> None:
    rows = log_normal_lengths(1000, 0)
    longest = [
        [max(rows[row] for part in share(batch, rank, 2, 4) for row in part) for rank in (0, 1)]
        for batch in epoch_batches(rows, 8, 0, 0)
    ]
    waits = sum(abs(one - other) for one, other in longest) / sum(max(both) for both in longest)
    assert waits < 0.03
