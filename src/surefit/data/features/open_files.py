"""Files of rows, opened when they are wanted, and checked for being what they were."""

import os
from collections import OrderedDict
from collections.abc import Sequence
from time import monotonic

from surefit.doctor.findings import Fact, Finding, Fix, Place
from surefit.errors import BadInput

from .decode import CHANGED
from .faults import not_opened
from .headers import state_of
from .shards import Shard

MOST_OPEN = 128
"""Files that one thread keeps open."""

SECONDS = 1.0
"""Between two looks at whether an open file was written to."""


class OpenFiles:
    """The files of one thread. Each is checked when it is opened, and every second."""

    def __init__(self, shards: Sequence[Shard]) -> None:
        self._shards = shards
        self._open: OrderedDict[int, int] = OrderedDict()
        self._checked: dict[int, float] = {}

    def descriptor(self, shard: int) -> int:
        """Open until so many others were asked for."""
        found, now = self._open.get(shard), monotonic()
        if found is not None:
            if now - self._checked[shard] > SECONDS:
                refuse_changed(self._shards[shard], found)
                self._checked[shard] = now
            return found
        if len(self._open) >= MOST_OPEN:
            os.close(self._open.popitem(last=False)[1])
        self._open[shard] = opened = _opened(self._shards[shard])
        self._checked[shard] = now
        return opened

    def close(self) -> None:
        while self._open:
            os.close(self._open.popitem()[1])


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
            Fix("Put the file back as it was, and go on from the last checkpoint."),
            Fix("If it was meant to change, start anew: its rows are others now."),
        ),
    )


def _opened(shard: Shard) -> int:
    try:
        file = os.open(shard.path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise BadInput(changed(shard, "it is no longer there")) from None
    except OSError as error:
        raise BadInput(not_opened(shard.name, shard.path, error)) from None
    try:
        refuse_changed(shard, file)
    except BaseException:
        os.close(file)
        raise
    return file
