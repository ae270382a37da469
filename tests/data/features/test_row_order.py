"""Every row once an epoch, in an order that neither processes nor the way of reading change."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from surefit.data.features.order import Order, Share, Shuffle

Placed = dict[tuple[int, int], int]
"""(step, place in the batch) -> row."""

orders = st.builds(
    Order,
    rows=st.integers(1, 400),
    batch_size=st.integers(1, 40),
    seed=st.integers(0, 9),
    shuffle=st.sampled_from(list(Shuffle)),
    block=st.integers(1, 20),
    window=st.integers(1, 12),
)


def placed(order: Order, epoch: int, share: Share | None = None) -> Placed:
    share = share or Share()
    found: Placed = {}
    for number in range(order.windows):
        for part in order.parts(epoch, number, share):
            places = part.places * share.world + share.rank
            at = zip(part.steps.tolist(), places.tolist(), strict=True)
            new = dict(zip(at, part.rows.tolist(), strict=True))
            assert not new.keys() & found.keys()
            found |= new
    return found


@given(order=orders, epoch=st.integers(0, 3))
def test_every_row_comes_once_and_every_place_is_filled(order: Order, epoch: int) -> None:
    found = placed(order, epoch)
    assert sorted(found.values()) == list(range(order.rows))
    for step in range(order.steps):
        places = sorted(place for at, place in found if at == step)
        assert places == list(range(order.rows_in(step)))


@given(order=orders, epoch=st.integers(0, 3), world=st.integers(1, 9))
def test_processes_share_the_same_steps(order: Order, epoch: int, world: int) -> None:
    shares = [Share(rank, world) for rank in range(world)]
    together: Placed = {}
    for share in shares:
        own = placed(order, epoch, share)
        for step in range(order.steps):
            assert sum(at == step for at, _ in own) == share.of(order.rows_in(step))
        together |= own
    assert together == placed(order, epoch)


@given(order=orders)
def test_every_step_is_in_its_window(order: Order) -> None:
    windows = [order.window_at(number) for number in range(order.windows)]
    steps = [step for window in windows for step in range(window.first, window.last)]
    assert steps == list(range(order.steps))
    for number, window in enumerate(windows):
        assert window.last - window.first <= order.window
        assert all(order.window_of(step) == number for step in range(window.first, window.last))


def test_another_epoch_is_another_order() -> None:
    for shuffle in (Shuffle.GLOBAL, Shuffle.BLOCKS):
        order = Order(200, 8, 0, shuffle, block=4, window=8)
        assert placed(order, 0) != placed(order, 1)
        assert placed(order, 1) == placed(order, 1)


def test_a_process_that_takes_whole_lanes_reads_whole_blocks() -> None:
    order = Order(64_000, 64, 0, Shuffle.BLOCKS, block=16, window=100)
    for rank in range(4):
        windows = [order.parts(0, number, Share(rank, 4)) for number in range(order.windows)]
        rows = np.concatenate([part.rows for parts in windows for part in parts])
        breaks = np.count_nonzero(np.diff(rows) != 1)
        assert len(rows) == 16_000
        assert breaks < 1.1 * len(rows) / 16


def design_effect(order: Order, epochs: int) -> float:
    """How much the mean over a batch of a smooth function of the stored order varies, against
    batches drawn by chance."""
    value = np.cos(np.arange(order.rows) * 2 * np.pi * 7 / order.rows)
    means = []
    for epoch in range(epochs):
        sums = np.zeros(order.steps)
        for number in range(order.windows):
            for part in order.parts(epoch, number, Share()):
                np.add.at(sums, part.steps, value[part.rows])
        means.append(sums[: order.rows // order.batch_size] / order.batch_size)
    return float(np.var(np.concatenate(means)) / (np.var(value) / order.batch_size))


def test_the_design_effect_is_as_the_formula_says() -> None:
    rows, batch = 40_000, 64
    for block, window in ((8, 64), (16, 32), (32, 64), (64, 32)):
        order = Order(rows, batch, 3, Shuffle.BLOCKS, block, window)
        predicted = 1 + block / window
        measured = design_effect(order, 4)
        assert measured <= 1.15 * predicted, (block, window, measured)
        assert measured >= 0.7 * predicted, (block, window, measured)
    whole = design_effect(Order(rows, batch, 3, Shuffle.GLOBAL), 4)
    assert 0.9 < whole < 1.1


def test_no_window_at_the_end_of_an_epoch_mixes_less() -> None:
    order = Order(10_000, 10, 0, Shuffle.BLOCKS, block=8, window=300)
    sizes = [order.window_at(number) for number in range(order.windows)]
    assert {window.last - window.first for window in sizes} == {250}
