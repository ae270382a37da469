"""A whole examination: a script is run and watched, its faults are found, their fixes are tried."""

import traceback
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from surefit.doctor.diagnose import Diagnosis, diagnose
from surefit.doctor.findings import Finding
from surefit.doctor.observations import Answer, Crash, NotObserved, Question, Steps
from surefit.doctor.recording import Recording
from surefit.observe import launched
from surefit.observe.script import Ask, Launch, Watched, watch
from surefit.proof.chance import again, that_can_be_repeated
from surefit.proof.sandbox import Snapshot, snapshot
from surefit.proof.second_run import answer_by_second_run
from surefit.proof.trial import prove

Result = TypeVar("Result")
Progress = Callable[[str], AbstractContextManager[object]]


@dataclass(frozen=True, slots=True)
class Examination:
    """What came of it."""

    recording: Recording
    findings: tuple[Finding, ...]
    code: int
    """Of the script, as a shell would say it."""
    faults: tuple[str, ...]
    """Of surefit itself, a line each: they never hide the user's own error."""
    seat: launched.Seat | None = None
    """Among ranks of the same launch, where this is one of several."""

    @property
    def exception(self) -> str | None:
        """What ended the script, the first in time."""
        crashes = sorted(
            (crash for crash in self.recording.all(Crash) if not crash.swallowed),
            key=lambda crash: crash.at,
        )
        return crashes[0].said if crashes and self.code else None

    @property
    def not_observed(self) -> tuple[str, ...]:
        found = [f"{one.what}: {one.why}" for one in self.recording.all(NotObserved)]
        return tuple(dict.fromkeys(found))

    @property
    def steps(self) -> int:
        return sum(one.steps for one in self.recording.all(Steps))


def examine(
    launch: Launch,
    *,
    prove_fixes: bool = True,
    proof_seconds: float = 60.0,
    hang_after: float | None = None,
    progress: Progress = lambda _text: nullcontext(),
) -> Examination:
    """Runs the command to its end, then finds and proves; only the run itself can raise."""
    faults: list[str] = []
    seat = guarded(launched.take_seat, None, faults, "sharing with the other ranks")
    if seat is not None and not seat.reports:
        return for_the_report_of_another(launch, seat, hang_after, proof_seconds)
    before = guarded(lambda: snapshot(launch.cwd), None, faults, "the folder before the run")

    def on_crash(seen: Recording, ask: Ask) -> None:
        guarded(lambda: diagnose(seen, ask), None, faults, "questions to the crashed process")

    launch = that_can_be_repeated(launch)
    watched = watch(launch, hang_after=hang_after, on_crash=on_crash, seat=seat)
    return concluded(watched, launch, before, faults, prove_fixes, proof_seconds, progress, seat)


def concluded(
    watched: Watched,
    launch: Launch,
    before: Snapshot | None,
    faults: list[str],
    prove_fixes: bool,
    proof_seconds: float,
    progress: Progress,
    seat: launched.Seat | None = None,
) -> Examination:
    """From what was watched to findings with proved fixes."""
    seen = watched.recording
    diagnosis = found(seen, launch, before, proof_seconds, faults, progress)
    findings = diagnosis.findings
    if prove_fixes and findings:
        with progress("trying the fix on a copy"):
            findings = guarded(
                lambda: proved(findings, seen, launch, before, proof_seconds),
                findings,
                faults,
                "the proof",
            )
    faults += diagnosis.broken_rules
    faults_once = tuple(dict.fromkeys(faults))
    return Examination(seen, tuple(findings), watched.code, faults_once, seat)


def proved(
    findings: Sequence[Finding],
    seen: Recording,
    launch: Launch,
    before: Snapshot | None,
    seconds: float,
) -> tuple[Finding, ...]:
    with again(launch, seen) as same:
        return prove(findings, seen, same, before, seconds=seconds)


def for_the_report_of_another(
    launch: Launch, seat: launched.Seat, hang_after: float | None, proof_seconds: float
) -> Examination:
    """Watches this rank's script; if it fails, stays until the first rank has told of it."""
    watched = watch(launch, hang_after=hang_after, seat=seat)
    if watched.code:
        seat.stay(launched.LONGEST_REPORT + proof_seconds)
    return Examination(watched.recording, (), watched.code, (), seat)


def found(
    seen: Recording,
    launch: Launch,
    before: Snapshot | None,
    seconds: float,
    faults: list[str],
    progress: Progress,
) -> Diagnosis:
    """What the rules say; how a value came to be is found out by a second run, if one asks."""

    def second_run(questions: Sequence[Question]) -> Iterable[Answer]:
        if launched.is_one_of_several():
            return [Answer(one, None, "it is one of several ranks") for one in questions]
        doing = "running it again to see how a value came to be"
        with progress(doing), again(launch, seen) as same:
            return answer_by_second_run(questions, seen, same, before, seconds=seconds)

    nothing = Diagnosis(())
    return guarded(lambda: diagnose(seen, second_run), nothing, faults, "the diagnosis")


def guarded(work: Callable[[], Result], otherwise: Result, faults: list[str], what: str) -> Result:
    try:
        return work()
    except Exception as error:  # noqa: BLE001 - the user's own error has been shown; a line follows
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(last.filename).name}:{last.lineno}"
        faults.append(f"{what} failed: {type(error).__name__}: {error} ({where})")
        return otherwise
