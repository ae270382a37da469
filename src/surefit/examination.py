"""A whole examination: a script is run and watched, its faults are found, their fixes are tried."""

import traceback
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from surefit.doctor.diagnose import Diagnosis, diagnose
from surefit.doctor.findings import Finding
from surefit.doctor.observations import Answer, Crash, NotObserved, Question, Steps
from surefit.doctor.recording import Recording
from surefit.laws.in_time import InTime
from surefit.observe import launched
from surefit.observe.forks import Forks
from surefit.observe.script import Ask, Launch, Watched, watch
from surefit.proof.chance import again, that_can_be_repeated
from surefit.proof.sandbox import IN_EVERY_COPY, Snapshot, snapshot
from surefit.proof.second_run import answer_by_second_run
from surefit.proof.trial import are_worth_a_run, prove

Result = TypeVar("Result")
Progress = Callable[[str], AbstractContextManager[object]]


@dataclass(frozen=True, slots=True)
class Proofs:
    """Whether fixes are tried, for how long, and who is told meanwhile."""

    wanted: bool = True
    seconds: float = 60.0
    progress: Progress = lambda _text: nullcontext()


@dataclass(frozen=True, slots=True)
class Subject:
    """What is examined."""

    launch: Launch
    before: Snapshot | None
    """Its folder before the run."""
    forks: Forks
    proofs: Proofs
    faults: list[str] = field(default_factory=list)
    """Of surefit itself."""

    def on_crash(self, seen: Recording, ask: Ask) -> None:
        """While libraries are imported for the tries, the crashed process is asked."""
        if self.proofs.wanted:
            self.guarded(lambda: self.forks.begin(seen), None, "a Python to fork from")
        nothing = Diagnosis(())
        asked = "questions to the crashed process"
        diagnosis = self.guarded(lambda: diagnose(seen, ask), nothing, asked)
        if not seen.open_questions and not are_worth_a_run(diagnosis.findings):
            self.forks.cancel()

    def guarded(self, work: Callable[[], Result], otherwise: Result, what: str) -> Result:
        return guarded(work, otherwise, self.faults, what)


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
    stopped: str = ""
    """Why the run was ended before its time: see `Watched`."""

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
    in_time: InTime | None = None,
) -> Examination:
    """Runs the command to its end, then finds and proves; only the run itself can raise. `in_time`
    is told what is certain before."""
    faults: list[str] = []
    seat = guarded(launched.take_seat, None, faults, "sharing with the other ranks")
    if seat is not None and not seat.reports:
        return for_the_report_of_another(launch, seat, hang_after, proof_seconds)
    before = guarded(lambda: snapshot(launch.cwd), None, faults, "the folder before the run")
    launch = that_can_be_repeated(launch)
    proofs = Proofs(prove_fixes, proof_seconds, progress)
    with Forks(launch, IN_EVERY_COPY) as forks:
        subject = Subject(launch, before, forks, proofs, faults)
        watched = watch(
            launch,
            hang_after=hang_after,
            on_crash=subject.on_crash,
            seat=seat,
            on_news=in_time.news if in_time is not None else None,
        )
        return concluded(watched, subject, seat)


def concluded(watched: Watched, subject: Subject, seat: launched.Seat | None = None) -> Examination:
    """From what was watched to findings with proved fixes."""
    seen = watched.recording
    diagnosis = diagnosed(seen, subject)
    findings = diagnosis.findings
    if subject.proofs.wanted and findings:
        with subject.proofs.progress("testing the fixes on a copy"):
            findings = subject.guarded(
                lambda: proved(findings, seen, subject), findings, "the proof"
            )
    faults = tuple(dict.fromkeys([*subject.faults, *diagnosis.broken_rules]))
    return Examination(seen, tuple(findings), watched.code, faults, seat, watched.stopped)


def diagnosed(seen: Recording, subject: Subject) -> Diagnosis:
    """What the rules say; how a value came to be is found out by a second run, if one asks."""

    def second_run(questions: Sequence[Question]) -> Iterable[Answer]:
        if launched.is_one_of_several():
            return [Answer(one, None, "it is one of several ranks") for one in questions]
        doing = "running it again to see how a value came to be"
        with subject.proofs.progress(doing), again(subject.launch, seen) as same:
            subject.forks.begin(seen)
            return answer_by_second_run(
                questions,
                seen,
                same,
                subject.before,
                seconds=subject.proofs.seconds,
                watch=subject.forks.watch,
            )

    return subject.guarded(lambda: diagnose(seen, second_run), Diagnosis(()), "the diagnosis")


def proved(findings: Sequence[Finding], seen: Recording, subject: Subject) -> tuple[Finding, ...]:
    with again(subject.launch, seen) as same:
        if are_worth_a_run(findings):
            subject.forks.begin(seen)
        return prove(
            findings,
            seen,
            same,
            subject.before,
            seconds=subject.proofs.seconds,
            watch=subject.forks.watch,
        )


def for_the_report_of_another(
    launch: Launch, seat: launched.Seat, hang_after: float | None, proof_seconds: float
) -> Examination:
    """Watches this rank's script; if it fails, stays until the first rank has told of it."""
    watched = watch(launch, hang_after=hang_after, seat=seat)
    if watched.code:
        seat.stay(launched.LONGEST_REPORT + proof_seconds)
    return Examination(watched.recording, (), watched.code, (), seat)


def guarded(work: Callable[[], Result], otherwise: Result, faults: list[str], what: str) -> Result:
    try:
        return work()
    except Exception as error:  # noqa: BLE001 - the user's own error has been shown; a line follows
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(last.filename).name}:{last.lineno}"
        faults.append(f"{what} failed: {type(error).__name__}: {error} ({where})")
        return otherwise
