"""Files of rows, opened when they are wanted, and checked for being what they were."""

import os
from collections import deque
from collections.abc import Sequence
from time import monotonic

import numpy as np

from surefit.doctor.findings import Fact, Finding, Fix, Place
from surefit.errors import BadInput

from .decode import CHANGED
from .faults import not_opened
from .headers import state_of
from .permutation import Indices
from .shards import Shard

MOST_OPEN = 128
"""Files that one thread keeps open."""

SECONDS = 1.0
"""Between two looks at whether an open file was written to."""


class OpenFiles:
    """The files of one thread. Each is checked when it is opened, and every second."""

    def __init__(self, shards: Sequence[Shard]) -> None:
        self._shards = shards
        self._open: deque[int] = deque()
        self._descriptors = np.full(len(shards), -1)
        self._checked = monotonic()

    def descriptors(self, shards: Indices) -> Indices | None:
        """For each of these shards; None if they are more than can be open together."""
        self._look_again()
        found = self._descriptors[shards]
        if found.min() < 0:
            wanted = np.unique(shards)
            if len(wanted) > MOST_OPEN:
                return None
            self._close_others(set(wanted.tolist()))
            for shard in wanted.tolist():
                self.descriptor(shard)
            found = self._descriptors[shards]
        return found

    def descriptor(self, shard: int) -> int:
        """Open until so many others were asked for."""
        if self._descriptors[shard] < 0:
            if len(self._open) >= MOST_OPEN:
                self._close(self._open.popleft())
            self._descriptors[shard] = _opened(self._shards[shard])
            self._open.append(shard)
        return int(self._descriptors[shard])

    def close(self) -> None:
        while self._open:
            self._close(self._open.pop())

    def _close(self, shard: int) -> None:
        os.close(int(self._descriptors[shard]))
        self._descriptors[shard] = -1

    def _close_others(self, wanted: set[int]) -> None:
        """As many as must make room."""
        more = sum(self._descriptors[shard] < 0 for shard in wanted)
        others = [shard for shard in self._open if shard not in wanted]
        for shard in others[: max(0, len(self._open) + more - MOST_OPEN)]:
            self._open.remove(shard)
            self._close(shard)

    def _look_again(self) -> None:
        now = monotonic()
        if now - self._checked > SECONDS:
            self._checked = now
            for shard in self._open:
                refuse_changed(self._shards[shard], int(self._descriptors[shard]))


def refuse_changed(shard: Shard, file: int, *facts: Fact) -> None:
    """Compares an open file with what its header was read from."""
    state = state_of(file)
    if state.size != shard.size:
        said = f"it had {shard.size:,} bytes, and has {state.size:,}"
        raise BadInput(changed(shard, said, *facts))
    if state.changed_ns != shard.changed_ns:
        raise BadInput(changed(shard, "it was written to", *facts))


def changed(shard: Shard, what: str, *facts: Fact) -> Finding:
    return CHANGED.finding(
        Place(shard.name),
        f"`{shard.name}` has changed since its header was read: {what}.",
        facts=facts,
        why="Rows read from now on would be others than those that were checked.",
        fixes=(
            Fix("Restore the file, then resume from the last checkpoint."),
            Fix("If the change was intended, start a new run: the rows are different now."),
        ),
    )


def _opened(shard: Shard) -> int:
    try:
        file = os.open(shard.path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise BadInput(changed(shard, "it no longer exists")) from None
    except OSError as error:
        raise BadInput(not_opened(shard.name, shard.path, error)) from None
    try:
        refuse_changed(shard, file)
    except BaseException:  # whatever it was, it goes on, and the file does not stay open
        os.close(file)
        raise
    return file
