"""A script run to its first optimizer step in a copy of its folder, so that nothing is written, and
from there to its first evaluation and its first save, as far as it comes in a given time.

Its batches are cut to their first rows. That hides faults (memory, a row further on), which is
said, and makes others: shapes written for one batch size, a loss over pairs. So whatever goes wrong
on a cut batch is not believed: the script is run again with its own, and that run is told of.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import IO

from surefit.doctor.findings import Finding
from surefit.doctor.measures.reaching import Reached
from surefit.doctor.observations import Chance, Crash, Process, Shrunk, Steps
from surefit.doctor.progress import first_crash, steps_taken
from surefit.doctor.recording import Recording
from surefit.examination import Examination, Proofs, Subject, concluded
from surefit.observe.forks import Forks
from surefit.observe.inside import reaching, small_batches, spool
from surefit.observe.script import Ask, Launch, Watched, watch
from surefit.proof.chance import again, that_can_be_repeated
from surefit.proof.sandbox import IN_EVERY_COPY, CannotTry, attempt, snapshot

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
class Ran:
    """One run in a copy, as far as its first step."""

    recording: Recording
    code: int
    seconds: float
    stopped: str
    """Why it was ended before its first step: `time` or `memory`; empty where it was not."""
    printed: str
    """The end of what the script wrote to both streams."""

    @property
    def reached_a_step(self) -> bool:
        return steps_taken(self.recording) > 0

    @property
    def crash(self) -> Crash | None:
        return first_crash(self.recording)

    @property
    def lacked(self) -> Crash | None:
        """A crash that need not come outside of a copy: it, or what led to it, is of that kind."""
        crash = self.crash
        said = [crash.said, *(link.said for link in crash.chain)] if crash else []
        kinds = {one.partition(":")[0].rpartition(".")[2] for one in said}
        return crash if kinds & OF_THE_COPY else None

    @property
    def loss(self) -> float | None:
        """That the first step went back from."""
        series = (one.losses for one in self.recording.all(Steps) if one.losses)
        return next((values[0][1] for values in series), None)

    @property
    def cut(self) -> list[Shrunk]:
        """Batches that were shortened."""
        return [one for one in self._batches() if not one.why_not]

    @property
    def left_alone(self) -> list[Shrunk]:
        """Batches that would have been, of loaders of another kind."""
        return [one for one in self._batches() if one.why_not]

    def _batches(self) -> dict[Shrunk, None]:
        """Each once, however many processes have such a loader."""
        seen = self.recording.all(Shrunk)
        return dict.fromkeys(replace(one, process=Process()) for one in seen)

    @property
    def reached(self) -> Reached:
        """What it came to after its first step, in any of its processes."""
        every = list(self.recording.all(Reached))
        return Reached(
            process=Process(),
            evaluation=any(reached.evaluation for reached in every),
            save=any(reached.save for reached in every),
            ended=any(reached.ended for reached in every) or bool(self.stopped),
            batches=next((reached.batches for reached in every), None),
        )

    @property
    def losses_not_finite(self) -> int:
        return sum(steps.losses_not_finite for steps in self.recording.all(Steps))

    @property
    def failed(self) -> bool:
        """It came to no step, for another reason than time or what a copy lacks."""
        came_to_it = self.reached_a_step and self.crash is None
        return not (came_to_it or self.stopped or self.lacked)


@dataclass(frozen=True, slots=True)
class Preflight:
    """What came of it."""

    ran: Ran
    """The run that is told of."""
    examined: Examination
    small: Ran
    """The run on batches of a few rows; the same one, unless it was made again with its own."""
    found_in_small: tuple[Finding, ...] = ()
    """By the rules in that run, where it came to its step."""

    @property
    def on_cut_batches(self) -> bool:
        return bool(self.ran.cut)

    @property
    def was_repeated(self) -> bool:
        return self.small is not self.ran


@dataclass(frozen=True, slots=True)
class Terms:
    """How a check is made."""

    rows: int
    """Of a batch that are kept; 0: all."""
    seconds: float
    """In which each run must come to its first step."""
    proofs: Proofs
    further: float = 0.0
    """Seconds after the first step in which it goes on to an evaluation and a save."""

    @property
    def environment(self) -> dict[str, str]:
        if self.further:
            return {reaching.FURTHER: str(self.further)}
        return TO_THE_FIRST_STEP


def preflight(launch: Launch, terms: Terms) -> Preflight:
    """Raises `CannotTry` where there can be no copy, or where the script reaches outside of it."""
    launch = that_can_be_repeated(launch)
    before = snapshot(launch.cwd)
    with Forks(launch, IN_EVERY_COPY) as forks:
        return to_the_first_step(Subject(launch, before, forks, terms.proofs), terms)


def to_the_first_step(subject: Subject, terms: Terms) -> Preflight:
    few = replace(subject, launch=with_rows(subject.launch, terms.rows))
    with terms.proofs.progress("running a copy to its first step"):
        small = run_to_its_first_step(few, terms)
    if not small.cut:
        return Preflight(small, examined(small, subject), small)
    found: tuple[Finding, ...] = ()
    if not small.failed:
        seen = Examination(small.recording, (), small.code, tuple(subject.faults))
        if small.reached_a_step:
            seen = examined(small, replace(few, proofs=replace(terms.proofs, wanted=False)))
        if not seen.findings:
            return Preflight(small, seen, small)
        found = seen.findings
    whole = replace(subject, faults=[])
    own = with_own_batches(whole, small, terms)
    return Preflight(own, examined(own, whole), small, found)


def with_rows(launch: Launch, rows: int) -> Launch:
    if not rows:
        return launch
    return replace(launch, environment={**launch.environment, small_batches.ROWS: str(rows)})


def with_own_batches(subject: Subject, small: Ran, terms: Terms) -> Ran:
    """The same chances as in the first run: its rows are the first of these batches."""
    with (
        terms.proofs.progress("running it again with full batches"),
        again(subject.launch, small.recording) as same,
    ):
        ran = run_to_its_first_step(replace(subject, launch=same), terms)
    began = [*small.recording.all(Chance)]
    return replace(ran, recording=Recording([*began, *ran.recording.observations]))


def run_to_its_first_step(subject: Subject, terms: Terms) -> Ran:
    """And further; a script that reaches outside of its copy only then is ended at its step."""
    try:
        return run(subject, terms)
    except CannotTry:
        if not terms.further:
            raise
        return run(subject, replace(terms, further=0.0))


def run(subject: Subject, terms: Terms) -> Ran:
    def on_crash(seen: Recording, ask: Ask) -> None:
        if all(one.why_not for one in seen.all(Shrunk)):  # or the run with whole batches is asked
            subject.on_crash(seen, ask)

    with output() as printed:
        watched: Watched = attempt(
            subject.launch,
            subject.before,
            {},
            environment=terms.environment,
            seconds=terms.seconds,
            bytes_=None,
            watch=partial(watch, on_crash=on_crash, output=printed),
        )
        said = end_of(printed)
    return Ran(watched.recording, watched.code, watched.seconds, watched.stopped, said)


def examined(ran: Ran, subject: Subject) -> Examination:
    return concluded(Watched(ran.recording, ran.code, ran.seconds, ran.stopped), subject)


@contextmanager
def output() -> Iterator[IO[bytes]]:
    with tempfile.TemporaryFile(prefix="surefit-") as opened:
        yield opened


def end_of(printed: IO[bytes]) -> str:
    size = printed.seek(0, 2)
    printed.seek(max(0, size - LONGEST_OUTPUT))
    return printed.read().decode("utf-8", "backslashreplace")
