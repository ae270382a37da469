"""One voice for all processes of a launch: the first speaks, and what several find is told once."""

import atexit
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from shutil import rmtree
from types import FrameType

from surefit.errors import SurefitError
from surefit.render import console, outcome

from .launch import Launch, this_launch
from .lost_process import OTHER_DIED, LostError, noticing_death

POLL = 0.05
"""Seconds between two looks at what another process has left."""
PATIENCE = 5.0
"""Seconds that the first process is given to tell what this one has found, too."""


@contextmanager
def only_first_speaks() -> Iterator[None]:
    """The other processes say nothing and draw no bar; findings are still shown."""
    before = console.quiet
    console.quiet = before or this_launch().rank > 0
    try:
        yield
    finally:
        console.quiet = before


@contextmanager
def as_one_command() -> Iterator[None]:
    """One voice for all processes: what several of them find is told by one, and by the first."""
    launch = this_launch()
    if launch.world == 1:
        yield
        return
    outcome.told_elsewhere = launch.rank > 0
    if launch.notes:
        launch.notes.arrive(launch.local_rank)
    leaving = _end_in_order(launch)
    with only_first_speaks():
        try:
            with noticing_death():
                yield
        except SurefitError as error:
            leaving.set()
            if not _is_mine_to_tell(launch, error):
                raise SystemExit(error.exit_code) from None
            if launch.rank == 0:
                raise
            found = (replace(finding, ranks=(launch.rank,)) for finding in error.findings)
            raise type(error)(*found) from error
        finally:
            leaving.set()
            _leave(launch)


def _end_in_order(launch: Launch) -> threading.Event:
    """The launcher ends all processes after one: whoever is about to leave has its last word.

    Its signal stays without effect until this process has ended by itself.
    """
    leaving = threading.Event()

    def end(signal_number: int, _frame: FrameType | None) -> None:
        if leaving.is_set():
            return
        if launch.gone():
            raise LostError
        raise SystemExit(128 + signal_number)

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, end)
        # At its very end Python takes its handlers away, and then all modules, which are many.
        atexit.register(signal.signal, signal.SIGTERM, signal.SIG_IGN)
    return leaving


def _is_mine_to_tell(launch: Launch, error: SurefitError) -> bool:
    """Whether no other process on this machine tells it; the first has the first word."""
    notes = launch.notes
    if notes is None:
        return True
    what = "-".join(sorted({finding.code for finding in error.findings}))

    def told() -> bool:
        claimed = notes.claimed()
        # A process that says why it ends has said why the others must.
        return what in claimed or (what == OTHER_DIED.code and bool(claimed))

    ends = time.monotonic() + PATIENCE
    while launch.local_rank and not told() and time.monotonic() < ends:
        if notes.is_gone(0) or notes.read(0, "left") is not None:
            break
        time.sleep(POLL)
    return not told() and notes.claim(what)


def _leave(launch: Launch) -> None:
    """Whoever is the last takes the notes away."""
    if launch.notes is None:
        return
    launch.notes.put(launch.local_rank, "left", {})
    if all(
        launch.notes.read(local, "left") is not None or launch.notes.is_gone(local)
        for local in range(launch.local_world)
    ):
        rmtree(launch.notes.folder, ignore_errors=True)
