"""What a patched run shows: that the fix held, that it failed, or nothing."""

from collections.abc import Mapping
from dataclasses import dataclass

from surefit.doctor.conditions.condition import Condition
from surefit.doctor.findings import Proof
from surefit.doctor.observations import Confined, Crash, Death, Ended
from surefit.doctor.progress import first_crash, steps_taken
from surefit.doctor.recording import Recording
from surefit.doctor.words import bytes_of, counted
from surefit.observe.script import Watched
from surefit.proof.aftermath import Aftermath, aftermath, same_place
from surefit.proof.goal import Goal
from surefit.proof.losses import compared
from surefit.proof.snapshot import CannotTry

LACKING = frozenset(
    (
        "ConnectionError",
        "ConnectionRefusedError",
        "EOFError",
        "FileNotFoundError",
        "LocalEntryNotFoundError",
        "NotADirectoryError",
        "OfflineModeIsEnabled",
        "PermissionError",
    )
)
"""Errors of a copy that lacks something, not of a patch."""
LONGEST = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Try:
    """A patched run, and what it is held against."""

    goal: Goal
    first: Recording
    watched: Watched
    must: Condition
    changes_the_past: bool
    texts: Mapping[str, str]
    """The patched files as Python should have read them."""
    about: str
    """The fault that the fix is for, if it is one of the crashes."""
    given: float
    """Seconds for all proofs."""

    @property
    def after(self) -> Recording:
        return self.watched.recording

    @property
    def reached_the_goal(self) -> bool:
        return steps_taken(self.after) >= self.goal.steps


def judged(made: Try, tried: str, without: str = "") -> Proof:
    """`without`: what is to be said of a run without the fix. Raises `CannotTry` where the run
    proves nothing either way."""
    refuse_stopped(made)
    tried += weakness(made.after)
    failure = how_it_failed(made)
    if failure:
        return Proof("failed", f"{tried}, and it did not hold: {failure}")
    refuse_unpatched(made)
    losses = same_losses(made)
    judgement = made.must.judge(made.first, made.after)
    if not judgement.decided:
        raise CannotTry(judgement.said, was_run=True)
    if not judgement.held:
        return Proof("failed", f"{tried}, and it did not hold: {judgement.said}")
    later = what_came_later(made)
    if later and later.by_the_fix:
        said = f"it runs {progress(made)}, then stops{ending(later.crash)}"
        return Proof("failed", f"{tried}, and it did not hold: {said}")
    parts = (
        progress(made),
        losses,
        judgement.said,
        later and f"later it stops{ending(later.crash)}: another fault",
        without and f"without the fix {in_a_sentence(without)}",
    )
    said = "; ".join(part for part in parts if part)
    return Proof("held", f"{tried}: {said}")


def weakness(after: Recording) -> str:
    """Which wall the sandbox lacked."""
    by = {confined.by for confined in after.all(Confined)}
    if "trusted" in by:
        return ", with nothing to keep it from your files"
    return ", behind Landlock and seccomp, without namespaces" if "landlock" in by else ""


def in_a_sentence(said: str) -> str:
    """A headline in the middle of one: without its capital letter and full stop."""
    first = said.partition(" ")[0]
    lowered = said if first.isupper() and len(first) > 1 else said[:1].lower() + said[1:]
    return lowered.removesuffix(".")


def refuse_stopped(made: Try) -> None:
    watched = made.watched
    if watched.stopped == "memory":
        peak = max((ended.peak or 0 for ended in made.first.all(Ended)), default=0)
        raise CannotTry(
            f"the patched copy came to more than twice the {bytes_of(peak)} of the first run",
            was_run=True,
        )
    if watched.stopped:
        raise CannotTry(
            f"the patched copy was ended after {watched.seconds:,.0f} s, at step"
            f" {steps_taken(made.after):,} of {made.goal.steps:,}; `--proof-seconds"
            f" {round(made.given * 2)}` gives it longer",
            was_run=True,
        )


def how_it_failed(made: Try) -> str:
    again = same_fault(made)
    if again is not None:
        return f"it still raises {shortened(again.said)}"
    if made.watched.code == 0:
        taken = steps_taken(made.after)
        if taken < made.goal.fault and not made.changes_the_past:
            return f"it ended after {counted(taken, 'step')}, before the fault could come"
        return ""
    crash = first_crash(made.after)
    if crash is not None:
        refuse_lacking(crash)
        refuse_another_fault(crash, made)
        return f"it stops{ending(crash)}"
    death = next(made.after.all(Death), None)
    return (
        f"it died by {death.signal}"
        if death and death.signal
        else (f"it ended with code {made.watched.code}")
    )


def ending(crash: Crash) -> str:
    place = f" at {crash.own_frame.place}" if crash.own_frame else ""
    return f"{place} with {shortened(crash.said)}"


def what_came_later(made: Try) -> Aftermath | None:
    """Not what the copy lacks, nor a fault that the first run has, too."""
    came = aftermath(made.first, made.first.crash(made.about), made.after, made.watched.later)
    if came is None:
        return None
    try:
        refuse_lacking(came.crash)
        refuse_another_fault(came.crash, made)
    except CannotTry:
        return None
    return came


def same_fault(made: Try) -> Crash | None:
    """The fault itself, also where the script catches it and ends well."""
    fault = made.first.crash(made.about)
    if fault is None or not fault.own_frame:
        return None
    crashes = made.after.all(Crash)
    return next((crash for crash in crashes if same_place(crash) == same_place(fault)), None)


def refuse_lacking(crash: Crash) -> None:
    kind = crash.kind.rpartition(".")[2]
    if kind in LACKING or "Permission denied" in crash.said:
        raise CannotTry(
            f"it stops there with {shortened(crash.said)}, for the copy lacks something",
            was_run=True,
        )


def refuse_another_fault(crash: Crash, made: Try) -> None:
    """The first run ended in the same way, which this fix is not for."""
    other = first_crash(made.first)
    if other and other.id != made.about and same_place(other) == same_place(crash):
        raise CannotTry(
            f"it stops there as the first run did, with {shortened(crash.said)}", was_run=True
        )


def refuse_unpatched(made: Try) -> None:
    """A package that is installed from its folder is imported from there and not from a copy."""
    for name, text in made.texts.items():
        source = made.after.source(name)
        if source is None or source.text != text:
            raise CannotTry(f"{name} was not read from the copy", was_run=True)


def same_losses(made: Try) -> str:
    """That the second run is the first one up to the fault; in words."""
    before = None if made.goal.ended_the_run else made.goal.fault
    found = compared(made.first, made.after, before)
    if not found.first_had:
        return ""
    if made.changes_the_past:
        return "losses before the fault were not compared, as the fix changes what comes before it"
    if found.differing:
        step, ours, theirs = found.differing
        raise CannotTry(
            f"its loss at step {step:,} is {theirs}, that of the first run was {ours}, though the"
            " fix changes nothing before the fault; without fixed seeds no run is like another",
            was_run=True,
        )
    if not found.equal:
        raise CannotTry("no loss before the fault was seen in both runs", was_run=True)
    losses = (
        "1 loss before the fault is"
        if found.equal == 1
        else (f"{found.equal:,} losses before the fault are")
    )
    return f"{losses} equal to the bit"


def progress(made: Try) -> str:
    taken = steps_taken(made.after)
    if not made.reached_the_goal:
        return f"it runs to its end, {counted(taken, 'step')}"
    if made.goal.ended_the_run or made.goal.fault:
        return f"{counted(taken - made.goal.fault, 'step')} past the fault"
    return counted(taken, "step")


def shortened(said: str) -> str:
    line = said.splitlines()[0] if said else ""
    return line if len(line) <= LONGEST else line[:LONGEST] + " ..."
