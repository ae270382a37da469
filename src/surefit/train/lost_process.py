"""A word from the processes of a run that are left when another of them has ended."""

import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from surefit.doctor.findings import Fact, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput

from .launch import Launch, this_launch
from .record import RunFolder

OTHER_DIED = refusal(
    "SF190", "other-process-died", "Another process of the same run ended before its time."
)

PATIENCE = 2.0
"""Seconds between a process's last sign and the system's word that it has ended."""


class LostError(RuntimeError):
    """The launcher ends this process, because another one has ended."""


@contextmanager
def noticing_death(folder: RunFolder | None = None) -> Iterator[None]:
    """Says in a finding that a collective broke because another process has ended."""
    try:
        yield
    except RuntimeError as error:
        launch = this_launch()
        if launch.world == 1 or not is_broken_collective(error):
            raise
        _ignore_the_launcher()
        said = "" if isinstance(error, LostError) else f"{type(error).__name__}: {error}"
        gone = _gone_soon(launch)
        raise lost_process(launch.rank, gone, folder, said=said.partition("\n")[0]) from error


def is_broken_collective(error: RuntimeError) -> bool:
    """Of NCCL by its kind; gloo raises a plain error that names its own source file."""
    from torch.distributed import DistError

    return isinstance(error, LostError | DistError) or "/gloo/" in str(error)


def lost_process(
    rank: int,
    gone: Sequence[int],
    folder: RunFolder | None = None,
    *,
    how: str = "ended",
    said: str = "",
) -> BadInput:
    """`gone`: the ranks known to have ended, as far as this machine can tell."""
    who = f"Rank {', '.join(map(str, gone))}" if gone else "Another process"
    steps = [record["step"] for record in folder.metrics()] if folder else []
    when = f" after step {steps[-1]}" if steps else ""
    return BadInput(
        OTHER_DIED.finding(
            Place(str(folder.path) if folder else "processes"),
            f"{who} of this run {how}{when}; the other processes cannot continue without it.",
            facts=[
                Fact("noticed by", f"rank {rank}"),
                *([Fact("newest checkpoint", _newest(folder))] if folder else []),
            ],
            why="The cause is in the output of that process, or in the log of its machine: `dmesg` "
            "lists processes that were killed for memory.",
            fixes=_go_on(folder) if folder else [],
            python_said=said,
        )
    )


def _ignore_the_launcher() -> None:
    """It is about to end this process, too, which ends by itself when it has said its word."""
    if threading.current_thread() is threading.main_thread():
        # Not `SIG_IGN`, which whatever this process starts would inherit.
        signal.signal(signal.SIGTERM, lambda *_: None)


def _gone_soon(launch: Launch) -> list[int]:
    ends = time.monotonic() + PATIENCE
    while not (gone := launch.gone()) and launch.notes and time.monotonic() < ends:
        time.sleep(0.05)
    return gone


def _newest(folder: RunFolder) -> str:
    found = sorted(folder.checkpoints.glob("step-*"))
    return f"step {int(found[-1].name.removeprefix('step-'))}" if found else "none"


def _go_on(folder: RunFolder) -> list[Fix]:
    if not folder.settings_file.exists():
        return []
    return [Fix(f"Resume with the same launcher:  surefit {folder.recipe} --resume {folder.path}")]
