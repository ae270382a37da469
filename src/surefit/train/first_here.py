"""What one process of a machine makes for all of them, however long it takes."""

import itertools
import time
from collections.abc import Callable
from typing import TypeVar

from surefit.errors import SurefitError
from surefit.launch_notes import Notes

from .launch import Launch, this_launch
from .lost_process import lost_process

POLL = 0.05
"""Seconds between two looks at what another process has left."""
LONGEST_ARRIVAL = 120.0
"""Seconds until every process of a machine has begun."""

_turns = itertools.count()
Value = TypeVar("Value")


def first_here_then_others(make: Callable[[], Value], read: Callable[[], Value]) -> Value:
    """What the first process of a machine makes; the others wait as long as that takes, and read.

    They wait for a file and not in a collective, which would end after its timeout. If the first
    fails they end with its exit code, and say nothing.
    """
    launch = this_launch()
    if launch.notes is None:
        return make()
    turn = f"turn-{next(_turns)}"
    launch.notes.arrive(launch.local_rank)
    if launch.local_rank == 0:
        return _made_first(launch.notes, turn, make)
    ended = _ended(launch, launch.notes, turn)
    if ended:
        raise SystemExit(ended)
    return read()


def _made_first(notes: Notes, turn: str, make: Callable[[], Value]) -> Value:
    code = 1
    try:
        made = make()
        code = 0
    except SurefitError as error:
        code = error.exit_code
        raise
    finally:
        notes.put(0, turn, {"code": code})
    return made


def _ended(launch: Launch, notes: Notes, turn: str) -> int:
    """The exit code that the first process of this machine would have, once it is done."""
    began = time.monotonic()
    while (ended := notes.read(0, turn)) is None:
        first = [launch.rank - launch.local_rank]
        if notes.is_gone(0):
            raise lost_process(launch.rank, first)
        if notes.read(0, "here") is None and time.monotonic() - began > LONGEST_ARRIVAL:
            how = f"did not begin within {LONGEST_ARRIVAL:.0f} seconds"
            raise lost_process(launch.rank, first, how=how)
        time.sleep(POLL)
    code: int = ended["code"]
    return code
