"""Which rows are in which step, and where in its batch: a pure function of seed, epoch and step.

Neither threads nor processes play a part in it. Two shuffles:

- *global*: one permutation of all rows.
- *blocks*: rows that lie beside each other on disk are read together, a block at a time. Blocks
  are permuted; a window of steps takes the next ones, and their rows are permuted among all places
  of the window. Blocks begin elsewhere in every epoch, so that neighbours part.

Places of a batch are dealt to lanes, as cards are, and each lane has blocks of its own: a process
that takes whole lanes reads whole blocks.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from math import gcd

import numpy as np

from .permutation import Indices, key_of, permuted

MOST_LANES = 8
LEAST_READ = 2048
"""Rows that one part of a window has at least, where the window has as many."""

CHUNK = 4096
"""Rows of the global shuffle that are computed at once."""

_BLOCKS, _TURN, _WINDOW, _ALL = 2, 3, 4, 5


class Shuffle(StrEnum):
    """How rows come to their places."""

    GLOBAL = "global"
    BLOCKS = "blocks"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Share:
    """This process among all: it takes every `world`-th row of a batch, from `rank` on."""

    rank: int = 0
    world: int = 1

    def of(self, rows: int) -> int:
        """How many of so many rows it takes."""
        return (rows - self.rank + self.world - 1) // self.world


@dataclass(frozen=True, slots=True)
class Window:
    """Steps whose rows are read together, `last` not included."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Part:
    """Some rows of a window, in the order in which they lie on disk.

    `rows` are numbers among the rows to train on, or those held out; `steps` and `places` say to
    which step each goes and where it comes in this process's share of the batch.
    """

    rows: Indices
    steps: Indices
    places: Indices

    def only(self, chosen: np.ndarray) -> "Part":
        return Part(self.rows[chosen], self.steps[chosen], self.places[chosen])


@dataclass(frozen=True, slots=True)
class Order:
    """The order of so many rows in all epochs."""

    rows: int
    batch_size: int
    """Rows of a step over all processes; the last step of an epoch has what is left."""

    seed: int
    shuffle: Shuffle
    block: int = 1
    """Rows that lie beside each other and are read together."""

    window: int = 1
    """Steps in a window, at most: windows are evened, so that none is small."""

    @property
    def steps(self) -> int:
        return -(-self.rows // self.batch_size)

    @property
    def windows(self) -> int:
        return -(-self.steps // self.window)

    @property
    def lanes(self) -> int:
        return gcd(self.batch_size, MOST_LANES)

    def rows_in(self, step: int) -> int:
        return min(self.batch_size, self.rows - step * self.batch_size)

    def window_at(self, number: int) -> Window:
        each = self.steps, self.windows
        return Window(number * each[0] // each[1], (number + 1) * each[0] // each[1])

    def window_of(self, step: int) -> int:
        return ((step + 1) * self.windows - 1) // self.steps

    def parts(self, epoch: int, number: int, share: Share) -> "Parts":
        """All that this process reads for a window, cut so that threads can take turns."""
        return Parts(self, epoch, number, share)


class Parts:
    """The parts of one window, made when they are asked for."""

    def __init__(self, order: Order, epoch: int, number: int, share: Share) -> None:
        self.order, self.epoch, self.number, self.share = order, epoch, number, share
        self._cuts = self._cut()

    def __len__(self) -> int:
        return len(self._cuts)

    def __getitem__(self, index: int) -> Part:
        lane, begin, end = self._cuts[index]
        if self.order.shuffle is Shuffle.BLOCKS:
            return self._of_lane(lane, begin, end)
        return self._of_all(begin, end)

    def __iter__(self) -> Iterator[Part]:
        return (self[index] for index in range(len(self)))

    def _cut(self) -> list[tuple[int, int, int]]:
        """Lane, first and last (not included) of each part's rows in the order of reading."""
        order, window = self.order, self.order.window_at(self.number)
        if order.shuffle is not Shuffle.BLOCKS:
            begin, end = (min(order.rows, step * order.batch_size) for step in _ends(window))
            return [(0, begin, end)]
        return [
            (lane, begin, end)
            for lane in self._own_lanes()
            for begin, end in _stretches(*self._lane_window(lane), order.block)
        ]

    def _own_lanes(self) -> range:
        """Those with rows of this process: whole lanes where they can be dealt out evenly."""
        rank, world = self.share.rank, self.share.world
        lanes = self.order.lanes
        return range(rank, lanes, world) if lanes % world == 0 else range(lanes)

    def _lane_window(self, lane: int) -> tuple[int, int]:
        """First and last row of a lane in this window, in the order of reading."""
        order, window = self.order, self.order.window_at(self.number)
        each = order.batch_size // order.lanes
        start, rows = _lane(order, lane), _lane(order, lane + 1) - _lane(order, lane)
        return start + min(rows, window.first * each), start + min(rows, window.last * each)

    def _of_lane(self, lane: int, begin: int, end: int) -> Part:
        order = self.order
        each = order.batch_size // order.lanes
        first, last = self._lane_window(lane)
        key = key_of(order.seed, self.epoch, _WINDOW, self.number, lane)
        at = permuted(np.arange(begin - first, end - first), last - first, key)
        step, place = np.divmod(at + (first - _lane(order, lane)), each)
        return self._own(
            _block_rows(order, self.epoch, begin, end), step, place * order.lanes + lane
        )

    def _of_all(self, begin: int, end: int) -> Part:
        order = self.order
        at = np.arange(begin, end)
        step, place = np.divmod(at, order.batch_size)
        if order.shuffle is Shuffle.NONE:
            return self._own(at, step, place)
        part = self._own(_shuffled(order, self.epoch, begin, end), step, place)
        return part.only(np.argsort(part.rows))

    def _own(self, rows: Indices, steps: Indices, places: Indices) -> Part:
        rank, world = self.share.rank, self.share.world
        if world == 1:
            return Part(rows, steps, places)
        own = places % world == rank
        return Part(rows[own], steps[own], places[own] // world)


def _lane(order: Order, lane: int) -> int:
    """Where the rows of a lane begin in the order of reading."""
    full, rest = divmod(order.rows, order.batch_size)
    lanes = order.lanes
    more = sum((rest - one + lanes - 1) // lanes for one in range(lane) if one < rest)
    return full * (order.batch_size // lanes) * lane + more


def _shuffled(order: Order, epoch: int, begin: int, end: int) -> Indices:
    chunks = range(begin // CHUNK, -(-end // CHUNK))
    rows = np.concatenate([_chunk(order, epoch, chunk) for chunk in chunks])
    skipped = begin % CHUNK
    return rows[skipped : skipped + end - begin]


@lru_cache(maxsize=4)
def _chunk(order: Order, epoch: int, chunk: int) -> Indices:
    """Many at a time, which takes a third of the time that batch after batch would."""
    at = np.arange(chunk * CHUNK, min(order.rows, (chunk + 1) * CHUNK))
    return permuted(at, order.rows, key_of(order.seed, epoch, _ALL))


def _block_rows(order: Order, epoch: int, begin: int, end: int) -> Indices:
    """The rows from `begin` to `end` in the order of reading; the last, short block ends it."""
    full = order.rows // order.block
    blocks = np.arange(begin // order.block, -(-end // order.block))
    whole = blocks < full
    blocks[whole] = permuted(blocks[whole], full, key_of(order.seed, epoch, _BLOCKS))
    rows = (blocks[:, None] * order.block + np.arange(order.block)).reshape(-1)
    skipped = begin % order.block
    turn = key_of(order.seed, epoch, _TURN) % order.rows
    turned: Indices = (rows[skipped : skipped + end - begin] + turn) % order.rows
    return turned


def _stretches(begin: int, end: int, block: int) -> Iterator[tuple[int, int]]:
    """Stretches of whole blocks."""
    size = -(-LEAST_READ // block) * block
    while begin < end:
        stop = min(end, (begin // block) * block + size)
        yield begin, stop
        begin = stop


def _ends(window: Window) -> tuple[int, int]:
    return window.first, window.last
