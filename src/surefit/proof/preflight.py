"""A script run to its first optimizer step in a copy of its folder, so that nothing is written.

Its batches are its own. A smaller one would hide faults (memory, a row that is too long) and make
others: batch normalisation of one row, shapes written for one batch size, a loss over pairs.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import IO

from surefit.doctor.diagnose import diagnose
from surefit.doctor.observations import Crash, Steps
from surefit.doctor.progress import first_crash, steps_taken
from surefit.doctor.recording import Recording
from surefit.observe.inside import spool
from surefit.observe.script import Ask, Launch, Watched, watch
from surefit.proof.chance import that_can_be_repeated
from surefit.proof.examination import Examination, Progress, concluded, guarded
from surefit.proof.sandbox import attempt, snapshot

TO_THE_FIRST_STEP = {spool.STOP_AFTER: "1"}
OF_THE_COPY = frozenset(
    (
        "ConnectError",
        "ConnectionError",
        "ConnectionRefusedError",
        "LocalEntryNotFoundError",
        "MaxRetryError",
        "OfflineModeIsEnabled",
        "PermissionError",
        "gaierror",
    )
)
"""Errors that a script meets because a copy is offline and may not write elsewhere."""
LONGEST_OUTPUT = 100_000
"""Bytes of what the script printed that are kept, from the end."""


@dataclass(frozen=True, slots=True)
class Preflight:
    """What came of it."""

    examined: Examination
    seconds: float
    stopped: str
    """Why it was ended before its first step: `time` or `memory`; empty where it was not."""
    printed: str
    """The end of what the script wrote to both streams."""

    @property
    def reached_a_step(self) -> bool:
        return steps_taken(self.examined.recording) > 0

    @property
    def lacked(self) -> Crash | None:
        """A crash that need not come outside of a copy: it, or what led to it, is of that kind."""
        crash = first_crash(self.examined.recording)
        said = [crash.said, *(link.said for link in crash.chain)] if crash else []
        kinds = {one.partition(":")[0].rpartition(".")[2] for one in said}
        return crash if kinds & OF_THE_COPY else None

    @property
    def loss(self) -> float | None:
        """That the first step went back from."""
        series = (one.losses for one in self.examined.recording.all(Steps) if one.losses)
        return next((values[0][1] for values in series), None)


def preflight(
    launch: Launch, *, seconds: float, prove_fixes: bool, proof_seconds: float, progress: Progress
) -> Preflight:
    """Raises `CannotTry` where there can be no copy, or where the script reaches outside of it."""
    faults: list[str] = []

    def on_crash(seen: Recording, ask: Ask) -> None:
        guarded(lambda: diagnose(seen, ask), None, faults, "questions to the crashed process")

    launch = that_can_be_repeated(launch)
    before = snapshot(launch.cwd)
    with progress("running to the first step, in a copy"), output() as printed:
        watched: Watched = attempt(
            launch,
            before,
            {},
            environment=TO_THE_FIRST_STEP,
            seconds=seconds,
            bytes_=None,
            watch=partial(watch, on_crash=on_crash, output=printed),
        )
        said = end_of(printed)
    examined = concluded(watched, launch, before, faults, prove_fixes, proof_seconds, progress)
    return Preflight(examined, watched.seconds, watched.stopped, said)


@contextmanager
def output() -> Iterator[IO[bytes]]:
    with tempfile.TemporaryFile(prefix="surefit-") as opened:
        yield opened


def end_of(printed: IO[bytes]) -> str:
    size = printed.seek(0, 2)
    printed.seek(max(0, size - LONGEST_OUTPUT))
    return printed.read().decode("utf-8", "backslashreplace")
