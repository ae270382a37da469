"""One pass over the rows: batches in their order, read ahead of their use."""

import os
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from surefit.doctor.findings import Fact, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput, SurefitError

from .buffers import Buffers, Values
from .given import Given, WrongRow
from .order import Order, Parts, Share
from .permutation import Indices
from .plan import LENT
from .reading import Reader, Rows
from .shards import Shard
from .threads import Readers

PASS_HAS_ENDED = refusal(
    "SF053", "pass-has-ended", "An iterator over batches is used where it can give none any more."
)


@dataclass(frozen=True, slots=True)
class Source:
    """What a pass reads, to where, and for whom."""

    rows: Rows
    chosen: Callable[[Indices], Indices]
    """Numbers among the rows of this pass -> among all rows."""

    given: Given
    order: Order
    share: Share
    buffers: Buffers
    """Rows as they are read."""

    made: Buffers | None
    """Rows as they are given, where that is something else."""

    threads: int

    def size_of(self, step: int) -> int:
        """Rows of this process in a step."""
        return self.share.of(self.order.rows_in(step))

    def origin_of(self, epoch: int, step: int, place: int) -> tuple[Shard, int]:
        """The shard and the row there that stands in this place of this process's batch."""
        window = self.order.parts(epoch, self.order.window_of(step), self.share)
        here = (part.rows[(part.steps == step) & (part.places == place)] for part in window)
        (row,) = self.chosen(np.concatenate(list(here))).tolist()
        return self.rows.find(row)


@dataclass(slots=True)
class Filling:
    """A window on its way, from a step on."""

    parts: Parts
    first: int
    numbers: Indices
    """The buffer of each step from the first on."""

    buffers: dict[int, int]
    """The same by step, of those that were not given out yet."""

    reads: list[Future[None]] = field(default_factory=list)

    def wait(self) -> None:
        for read in self.reads:
            read.result()


class Pass:
    """Gives the batches of an epoch from a step on, each as an array.

    With threads, the next window is read while this one is given out, a share of it with every
    batch. An array is valid as long as it, or anything made of it, is held.
    """

    def __init__(self, source: Source, epoch: int, step: int) -> None:
        self.epoch = epoch
        self.step = step
        self._source = source
        self._readers = Readers(source.threads, source.rows)
        self._fillings: dict[int, Filling] = {}
        self._making: dict[int, tuple[int, Future[None]]] = {}
        self._process = os.getpid()
        given_up = (self._process, source, self._readers, self._fillings, self._making)
        self._end = weakref.finalize(self, _end, *given_up)

    def __iter__(self) -> "Pass":
        return self

    def __next__(self) -> Values:
        if self._end.alive and self._process != os.getpid():
            raise _refused("was begun in another process, and its threads are there")
        if self.step >= self._source.order.steps:
            self.close()
        if not self._end.alive:
            if self.step < self._source.order.steps:
                raise _refused("was ended: another one was begun, or it failed before")
            raise StopIteration
        try:
            values = self._next()
        except BaseException as error:  # Ctrl-C, too, must end the threads; it goes on below
            self.close()
            told = self._told(error)
            if told is error:
                raise
            raise told from None
        self.step += 1
        return values

    def close(self) -> None:
        """Ends its threads and gives back what is not lent; batches that were given stay valid."""
        self._end()

    def _next(self) -> Values:
        source, step = self._source, self.step
        if source.made is None:
            filling = self._asked_for(step)
            filling.wait()
            values = _lent(source, source.buffers, filling.buffers.pop(step), step)
        else:
            self._make(step)
            self._making[step][1].result()
            values = _lent(source, source.made, self._making.pop(step)[0], step)
        self._forget(source.order.window_of(step))
        if source.threads:
            self._ask_ahead(step)
        return values

    def _ask_ahead(self, step: int) -> None:
        order = self._source.order
        number = order.window_of(step)
        if number + 1 < order.windows:
            window = order.window_at(number)
            done = (step + 1 - window.first) / (window.last - window.first)
            self._ask(number + 1, done)
        if self._source.made is not None and step + 1 < order.steps:
            self._make(step + 1)

    def _asked_for(self, step: int) -> Filling:
        return self._ask(self._source.order.window_of(step), 1.0)

    def _ask(self, number: int, share: float) -> Filling:
        """Has so much of a window read."""
        filling = self._fillings.get(number) or self._begin(number)
        parts = filling.parts
        for index in range(len(filling.reads), int(np.ceil(share * len(parts)))):
            read = partial(_read, filling, index, self._source)
            filling.reads.append(self._readers.submit(read))
        return filling

    def _begin(self, number: int) -> Filling:
        source = self._source
        window = source.order.window_at(number)
        parts = source.order.parts(self.epoch, number, source.share)
        first = max(window.first, self.step)
        taken = {step: source.buffers.take() for step in range(first, window.last)}
        filling = Filling(parts, first, np.array(list(taken.values())), taken)
        self._fillings[number] = filling
        return filling

    def _make(self, step: int) -> None:
        source = self._source
        assert source.made is not None
        if step not in self._making:
            number = source.made.take()
            make = partial(_make, self._asked_for(step), step, source, number)
            self._making[step] = number, self._readers.submit(make)

    def _forget(self, number: int) -> None:
        for one in [one for one in self._fillings if one < number]:
            del self._fillings[one]

    def _told(self, error: BaseException) -> BaseException:
        """The error with how far the pass had come."""
        if isinstance(error, WrongRow):
            error = self._located(error)
        if not isinstance(error, SurefitError):
            return error
        done = f"epoch {self.epoch}, {self.step:,} of {self._source.order.steps:,} steps"
        so_far = Fact("given so far", f"{done}; these were whole, and what was learned is kept")
        return type(error)(*(replace(f, facts=(*f.facts, so_far)) for f in error.findings))

    def _located(self, wrong: WrongRow) -> BadInput:
        """The file and row that a row of this step came from."""
        shard, at = self._source.origin_of(self.epoch, self.step, wrong.index)
        headline = f"`{shard.name}`, row {at:,}: {wrong.finding.headline}"
        place = Place(shard.name, row=at + 1)
        return BadInput(replace(wrong.finding, place=place, headline=headline))


def _read(filling: Filling, index: int, source: Source, reader: Reader) -> None:
    """Reads a part of a window to the buffers of its steps; earlier steps are passed over."""
    part = filling.parts[index]
    if (part.steps < filling.first).any():
        part = part.only(part.steps >= filling.first)
    numbers = filling.numbers[part.steps - filling.first]
    places = numbers * source.buffers.rows + part.places
    reader.read(source.chosen(part.rows), places, source.buffers)


def _make(filling: Filling, step: int, source: Source, number: int, _: Reader) -> None:
    """Makes the rows of a step, in the buffer of this number, of what was read."""
    assert source.made is not None
    filling.wait()
    rows = source.size_of(step)
    stored = filling.buffers[step]
    values = source.made.of(number, rows).reshape(-1).view(source.given.dtype)
    shaped = values.reshape(rows, *source.given.given_shape)
    source.given.make(source.buffers.of(stored, rows), shaped)
    source.buffers.give_back(filling.buffers.pop(step))


def _end(
    process: int,
    source: Source,
    readers: Readers,
    fillings: dict[int, Filling],
    making: dict[int, tuple[int, Future[None]]],
) -> None:
    """Nothing is written to any buffer after the threads have ended."""
    if process != os.getpid():
        return
    readers.close()
    for filling in fillings.values():
        while filling.buffers:
            source.buffers.give_back(filling.buffers.popitem()[1])
    for number, _ in making.values():
        assert source.made is not None
        source.made.give_back(number)
    fillings.clear()
    making.clear()


def _lent(source: Source, buffers: Buffers, number: int, step: int) -> Values:
    """The buffer itself or, if the user holds several already, a copy."""
    rows, given = source.size_of(step), source.given
    if buffers.lent < LENT:
        return buffers.lend(number, rows, given.dtype, given.given_shape)
    values = buffers.of(number, rows).copy().reshape(-1).view(given.dtype)
    buffers.give_back(number)
    return values.reshape(rows, *given.given_shape)


def _refused(what: str) -> BadInput:
    return BadInput(
        PASS_HAS_ENDED.finding(
            Place("loader"), f"This iterator {what}. Begin a new one: `iter(loader)`."
        )
    )
