"""Tries a fix in the sandbox, observes the run again, and holds it against its condition."""

import json
import os
import time
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from surefit.doctor.conditions.condition import Condition
from surefit.doctor.findings import Fact, Finding, Fix, Proof, Severity
from surefit.doctor.moved import became
from surefit.doctor.observations import Ended, Process
from surefit.doctor.recording import Recording
from surefit.doctor.words import counted
from surefit.observe.inside import spool, watchpoints
from surefit.observe.script import Launch, Watched
from surefit.observe.script import watch as observed
from surefit.proof.apply import apply as apply
from surefit.proof.goal import Goal, goal_of, refuse_too_long, whole_run
from surefit.proof.own_file import OwnFile, Patched, read_by_python
from surefit.proof.own_notebook import OwnNotebook, read_own
from surefit.proof.sandbox import CannotTry, Snapshot, Watch, attempt, refuse_outside
from surefit.proof.verdict import Try, judged
from surefit.source.patches import Edit, both
from surefit.source.reading import Source

LEAST_SECONDS = 2.0
"""No Python with torch in it starts in less."""
SECONDS_BEYOND, SHARE_BEYOND = 10, 0.25
"""Of what is left: for how long a run goes on that came past the fault."""
MORE_MEMORY = 1 << 30
SHARE_OF_SUPPOSITIONS = 0.4
"""Of the time, what is left for the finding that they would take the place of."""
MOST_HELD = 2
"""Ways to do the same that a finding shows."""


def prove(
    findings: Sequence[Finding],
    first: Recording,
    launch: Launch,
    before: Snapshot | None = None,
    *,
    seconds: float = 60.0,
    watch: Watch = observed,
) -> tuple[Finding, ...]:
    """The same findings, each fix with its diff and with how it was tried, or why it was not.

    All tries share `seconds`. What held for one finding is applied when the next is tried, so that
    the run gets past it.
    """
    trial = Trial(first=first, launch=launch, before=before, seconds=seconds, watch=watch)
    return tuple(trial.proved(finding) for finding in findings)


@dataclass(kw_only=True)
class Trial:
    """Tries, one after the other, on one run."""

    first: Recording
    launch: Launch
    before: Snapshot | None
    seconds: float
    watch: Watch
    began: float = field(default_factory=lambda: time.monotonic())
    held: list[tuple[Finding, Fix]] = field(default_factory=list)
    """Applied in every later try: of each finding the fix that held, a choice only where no other
    did."""
    unpatched: dict[tuple[object, ...], Watched] = field(default_factory=dict)
    """Runs without a fix: several fixes of one finding are held against the same."""

    def proved(self, finding: Finding) -> Finding:
        """What is supposed first: the first of it of which a fix holds is the finding."""
        until = self.left() * SHARE_OF_SUPPOSITIONS
        for supposition in finding.suppositions:
            tried = self.first_that_holds(supposition, until) if self.left() > until else None
            if tried is not None:
                self.held.append((tried, tried.fixes[0]))
                return tried
        return self.tried_in_order(replace(finding, suppositions=()))

    def first_that_holds(self, supposition: Finding, until: float) -> Finding | None:
        """The supposition with the first of its fixes that held, at the place of that; the failed
        ones are ruled out. None is tried once only `until` seconds are left."""
        failed: list[Fix] = []
        for fix in map(self.with_patch, supposition.fixes):
            if self.left() <= until:
                break
            tried = replace(fix, proof=self.proof(supposition, fix))
            if tried.has_held:
                place = fix.place or supposition.place
                ruled_out = {
                    str(other.place): Fact(str(other.place), rejection(other))
                    for other in failed
                    if is_rejected(other) and other.place != place
                }
                return replace(
                    supposition,
                    place=place,
                    fixes=(tried,),
                    ruled_out=(*supposition.ruled_out, *ruled_out.values()),
                )
            failed.append(tried)
        return None

    def tried_in_order(self, finding: Finding) -> Finding:
        """Every fix in its order, as long as there is time."""
        patched = [self.with_patch(fix) for fix in finding.fixes]
        fixes = [replace(fix, proof=self.proof(finding, fix)) for fix in patched]
        tried = at_what_held(replace(finding, fixes=tuple(fixes)))
        if tried.held is not None:
            self.held.append((tried, tried.held))
        return tried

    def with_patch(self, fix: Fix) -> Fix:
        if fix.edit is None:
            return fix
        try:
            return replace(fix, patch=self.file(fix.edit).as_diff(fix.edit))
        except (CannotTry, ValueError, OSError):  # said when it is to be tried
            return fix

    def proof(self, finding: Finding, fix: Fix) -> Proof:
        """Never an exception: a failure of the proof is no finding of the user's."""
        try:
            return self.tried(finding, fix)
        except CannotTry as error:
            return self.re_executed(fix, error) or Proof("not-tried", error.said)
        except Exception as error:  # noqa: BLE001 - see above
            last = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(last.filename).name}:{last.lineno}"
            said = f"not tried: surefit failed: {type(error).__name__}: {error} ({where})"
            return Proof("not-tried", said)

    def tried(self, finding: Finding, fix: Fix) -> Proof:
        refuse_untriable(finding, fix)
        assert fix.edit is not None
        assert fix.must is not None
        refuse_outside(self.first)
        refuse_other_hosts(self.first)
        patched = self.patched(fix.edit)
        goal = goal_of(finding, fix.must, self.first, self.left())
        goal, without = self.shown_without(fix.must, goal) if goal.silent else (goal, "")
        conditions = (fix.must, *self.held_conditions())
        made = Try(
            goal=goal,
            first=self.first,
            watched=self.run(patched, goal, fix.must),
            must=fix.must,
            changes_the_past=any(one.needs(self.first).changes_the_past for one in conditions),
            texts={name: file.text for name, file in patched.items()},
            about=finding.about,
            given=self.seconds,
        )
        with_others = "".join(f", with the fix of {found.rule}" for found, _ in self.held)
        return judged(made, f"tried on a copy{with_others}", without)

    def left(self) -> float:
        return self.seconds - (time.monotonic() - self.began)

    def run(self, patched: Mapping[str, Patched], goal: Goal, must: Condition) -> Watched:
        refuse_too_long(goal, self.left() - LEAST_SECONDS, self.seconds)
        return attempt(
            self.launch,
            self.before,
            {name: file.content for name, file in patched.items()},
            environment={
                spool.PROOF: "1",
                spool.STOP_AFTER: str(goal.steps),
                spool.GO_ON: str(self.seconds_beyond(goal)),
                watchpoints.WATCH: self.watched(patched, must),
            },
            seconds=self.left(),
            bytes_=self.memory(),
            watch=self.watch,
        )

    def seconds_beyond(self, goal: Goal) -> int:
        """For what comes later in a run that a fix got past a crash; a silent fault has none."""
        return 0 if goal.silent else int(min(SECONDS_BEYOND, self.left() * SHARE_BEYOND))

    def watched(self, patched: Mapping[str, Patched], must: Condition) -> str:
        """The lines at which the condition must see values, where the patch has moved them to."""
        points = []
        for point in must.needs(self.first).watchpoints:
            source = self.first.source(point.place)
            lines = range(point.place.line or 0, (point.place.line or 0) + 1)
            if source is not None and point.place.file in patched:
                new = Source(point.place.file, patched[point.place.file].text)
                lines = became(lines.start, source.lines, new.lines)
            if lines:
                points.append(watchpoints.as_environment(point, lines))
        return json.dumps(points)

    def shown_without(self, must: Condition, goal: Goal) -> tuple[Goal, str]:
        """A condition that the run meets without the fix, too, proves nothing about it: the steps
        after which it is not met, and what is said of it then. Some faults come late."""
        if must.needs(self.first).first_run_shows and not self.held:
            judgement = must.judge(self.first, self.first)
            if judgement.decided and not judgement.held:
                return replace(goal, seconds=goal.seconds / 2), judgement.said
        whole = whole_run(self.first)
        for one in (goal, whole) if whole.steps > goal.steps else (goal,):
            watched = self.run_unpatched(one, must)
            refuse_unfinished(watched)
            judgement = must.judge(self.first, watched.recording)
            if not judgement.held:
                return replace(one, seconds=one.seconds / 2), judgement.said
        steps = counted(one.steps, "step")
        raise CannotTry(f"in {steps} it is so without the fix, too: {judgement.said}", was_run=True)

    def run_unpatched(self, goal: Goal, must: Condition) -> Watched:
        patched = self.patched()
        contents = tuple((name, file.content) for name, file in patched.items())
        key = contents, goal.steps, self.watched(patched, must)
        if key not in self.unpatched:
            self.unpatched[key] = self.run(patched, goal, must)
        return self.unpatched[key]

    def held_conditions(self) -> list[Condition]:
        return [fix.must for _, fix in self.held if fix.must]

    def patched(self, edit: Edit | None = None) -> dict[str, Patched]:
        """By file: with the edits that held so far, and with this one."""
        edits: dict[str, Edit] = {}
        for one in (*(fix.edit for _, fix in self.held), edit):
            if one is not None:
                edits[one.file] = both(edits[one.file], one) if one.file in edits else one
        try:
            if edit is not None:
                self.file(edit).as_diff(edit)
            return {name: self.file(one).patched(one) for name, one in edits.items()}
        except ValueError as error:
            raise CannotTry(str(error)) from error

    def file(self, edit: Edit) -> OwnFile | OwnNotebook:
        """As it lies on the disk, if it still is what was run."""
        source = self.first.source(edit.file)
        if source is None:
            raise CannotTry(f"the source of {edit.file} was not seen")
        on_disk = read_own(self.launch.cwd / edit.file)
        if read_by_python(on_disk.text) != source.text:
            raise CannotTry(f"{edit.file} was changed after it was read")
        return on_disk

    def memory(self) -> int | None:
        """Twice what the first run had at most, and a little, so that small ones are not cut."""
        peak = max((ended.peak or 0 for ended in self.first.all(Ended)), default=0)
        return 2 * peak + MORE_MEMORY if peak else None

    def re_executed(self, fix: Fix, why: CannotTry) -> Proof | None:
        """Where a run cannot decide, the answers of the first one do, if they can."""
        if not may_be_tried(fix) or fix.must is None or not fix.must.needs(self.first).no_run:
            return None
        judgement = fix.must.judge(self.first, self.first)
        if not judgement.held:
            return None
        run = "a run on a copy proved nothing" if why.was_run else "the script was not run again"
        said = f"re-executed on the captured input: {judgement.said}; {run}: {why.reason}"
        return Proof("held", said)


def at_what_held(finding: Finding) -> Finding:
    """What held comes first. Where the fix at the finding's own place was tried and failed, the
    fault is where another held: an experiment outweighs what was concluded."""
    order = sorted(finding.fixes, key=lambda fix: (not fix.has_held, fix.choice))
    first, best = finding.fixes[:1], order[:1]
    ordered = replace(finding, fixes=tuple(order))
    if best and best[0].has_held and not best[0].choice:
        ordered = without_alternatives(ordered)
    if not first or not best[0].has_held or best[0].choice or best[0].place is None:
        return ordered
    failed = first[0].proof is not None and first[0].proof.status == "failed"
    if failed and first[0].place == finding.place:
        return replace(ordered, place=best[0].place)
    return ordered


def without_alternatives(finding: Finding) -> Finding:
    """Of a fault with a fix that held: other ways that held beyond a second one are left out, and
    what was tried and failed is ruled out. What the user must choose between stays."""
    plain = [fix for fix in finding.fixes if fix.has_held and not fix.choice]
    failed = [fix for fix in finding.fixes if is_rejected(fix)]
    gone = [*plain[MOST_HELD:], *failed]
    places = {str(fix.place) for fix in plain}
    rejected = [
        Fact(str(fix.place), rejection(fix)) for fix in failed if str(fix.place) not in places
    ]
    return replace(
        finding,
        fixes=tuple(fix for fix in finding.fixes if fix not in gone),
        ruled_out=(*finding.ruled_out, *rejected),
    )


def is_rejected(fix: Fix) -> bool:
    failed = fix.proof is not None and fix.proof.status == "failed"
    return failed and not fix.choice and fix.place is not None


def rejection(fix: Fix) -> str:
    said = fix.proof.said.partition("did not hold: ")[2] if fix.proof is not None else ""
    return f"a change there was tried, and did not hold: {said}"


def may_be_tried(fix: Fix) -> bool:
    return fix.edit is not None and fix.must is not None and not fix.why_not_tried


def are_worth_a_run(findings: Iterable[Finding]) -> bool:
    """Whether any of their fixes will be tried."""
    loud = (finding for finding in findings if finding.severity is not Severity.NOTE)
    return any(
        may_be_tried(fix)
        for finding in loud
        for meant in (finding, *finding.suppositions)
        for fix in meant.fixes
    )


def refuse_untriable(finding: Finding, fix: Fix) -> None:
    if fix.why_not_tried:
        raise CannotTry(fix.why_not_tried)
    if fix.edit is None:
        raise CannotTry("it is no edit of your source")
    if fix.must is None:
        raise CannotTry("nothing in numbers says that it is right")
    if finding.severity is Severity.NOTE:
        raise CannotTry("a note is not worth a run")


def refuse_unfinished(watched: Watched) -> None:
    if watched.stopped or watched.code:
        how = (
            f"was ended for its {watched.stopped}"
            if watched.stopped
            else (f"ends with code {watched.code}")
        )
        raise CannotTry(f"the copy without the fix {how}", was_run=True)


def refuse_other_hosts(first: Recording) -> None:
    """All ranks of a run must be started again together, which only their launcher can do."""
    world = os.environ.get("WORLD_SIZE", "")
    if world.isdigit() and int(world) > 1:
        raise CannotTry(
            f"this is one of {world} ranks; started as `surefit run torchrun ...`, surefit can"
            " start all of them again"
        )
    ranks = processes_by_rank(first)
    worlds = [process.world for process in ranks.values() if process.world]
    if worlds and len(ranks) < max(worlds):
        raise CannotTry(f"{len(ranks)} of {max(worlds)} ranks ran on this machine")


def processes_by_rank(first: Recording) -> dict[int, Process]:
    seen = (one.process for one in first.observations if hasattr(one, "process"))
    return {process.rank: process for process in seen if process.rank is not None}
