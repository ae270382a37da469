"""Invariants that a run violates: every file in `invariants/` is asked about every run."""

import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from math import isfinite

from surefit.doctor.conditions.condition import Judgement, Needs
from surefit.doctor.measures.reaching import Reached
from surefit.doctor.progress import final_steps, steps_taken
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Unanswered, failed
from surefit.doctor.violations import Violation
from surefit.doctor.words import counted
from surefit.laws import invariants
from surefit.laws.case import Case
from surefit.laws.lasting import is_certain_now, shows_in_a_part
from surefit.laws.law import BrokenLaw, Law, MeasuredOn

FEWEST_STEPS = 3
"""Optimizer steps that a proof takes at least."""


@dataclass(frozen=True, slots=True)
class Invariant:
    """A file in `invariants/`."""

    law: Law
    violations_of: Callable[[Case], Iterator[BrokenLaw]]
    watched: Callable[[Recording], MeasuredOn]

    def broken(self, case: Case) -> Iterator[BrokenLaw]:
        """Violations of it, each with its name."""
        return (replace(violation, law=self.law) for violation in self.violations_of(case))


@cache
def every_invariant() -> dict[str, Invariant]:
    """By name; there is no list to edit."""
    names = sorted(file.name for file in pkgutil.iter_modules(invariants.__path__))
    modules = {name: import_module(f"{invariants.__name__}.{name}") for name in names}
    return {
        name: Invariant(module.LAW, module.violations_of, module.watched)
        for name, module in modules.items()
        if hasattr(module, "LAW")
    }


def violations_in(recording: Recording, broken: list[str]) -> list[tuple[Violation, Case]]:
    """Every law that does not hold, each with its case; a law that fails itself is added to
    `broken`. Of a run that a check has ended, only what nothing later could mend."""
    found: list[tuple[Violation, Case]] = []
    was_cut_short = any(reached.ended for reached in recording.all(Reached))
    for name, invariant in every_invariant().items():
        try:
            for violation in invariant.broken(Case(recording)):
                if was_cut_short and not shows_in_a_part(violation):
                    continue
                found.append((violation, Case(recording, about=violation.fault)))
        except Unanswered:
            continue
        except Exception as error:  # noqa: BLE001 - the other laws still hold or do not
            broken.append(failed(f"the law {name}", error))
    return found


@dataclass(frozen=True, slots=True)
class LawState:
    """A law, whether it holds, and what it was measured on."""

    law: Law
    watched: MeasuredOn
    broken: bool = False


def states(recording: Recording) -> list[LawState]:
    """Of every law; for the words at the end of a run."""
    violated = {
        violation.law.name
        for violation, _ in violations_in(recording, [])
        if isinstance(violation, BrokenLaw) and violation.certain
    }
    return [
        LawState(invariant.law, watched_by(invariant, recording), name in violated)
        for name, invariant in every_invariant().items()
    ]


def watched_by(invariant: Invariant, recording: Recording) -> MeasuredOn:
    """A law that fails itself was not measured."""
    try:
        return invariant.watched(recording)
    except Exception as error:  # noqa: BLE001 - the other laws were measured
        return MeasuredOn(why_not=failed(f"the law {invariant.law.name}", error))


@dataclass(frozen=True, slots=True, kw_only=True)
class LawHolds:
    """With the fix the law holds for as many steps as it took to see that it did not; losses are
    finite and what an optimizer holds moves."""

    law: str
    kind: str
    """Class of the violation that must be gone."""
    steps: int
    changes_the_past: bool = True

    def needs(self, before: Recording) -> Needs:
        taken = steps_taken(before)
        steps = max(self.steps, min(FEWEST_STEPS, taken)) or None
        return Needs(steps=steps, changes_the_past=self.changes_the_past, first_run_shows=True)

    def judge(self, before: Recording, after: Recording) -> Judgement:
        invariant = every_invariant()[self.law]
        measured = invariant.watched(after)
        if measured.why_not:
            return Judgement(False, measured.why_not, decided=False)
        try:
            violations = list(invariant.broken(Case(after)))
        except Unanswered:
            return Judgement(False, "it is not known whether the law holds", decided=False)
        again = [violation for violation in violations if type(violation).__name__ == self.kind]
        broken = again or self.newly_broken(invariant, before, violations)
        if broken:
            return Judgement(False, broken[0].said)
        trained = final_steps(after)
        if any(steps.losses_not_finite for steps in trained) or not all(
            isfinite(loss) for steps in trained for _, loss in steps.losses
        ):
            return Judgement(False, "the loss is not finite")
        looked = [
            parameter for steps in trained for parameter in steps.parameters if parameter.sampled
        ]
        if looked and all(parameter.unchanged == parameter.sampled for parameter in looked):
            return Judgement(False, "no parameter moves")
        taken = counted(steps_taken(after), "step")
        return Judgement(True, f"{invariant.law.words}: so over {taken} ({measured.on})")

    def newly_broken(
        self, invariant: Invariant, before: Recording, violations: list[BrokenLaw]
    ) -> list[BrokenLaw]:
        """The same law, violated in a way in which it was not before the fix."""
        known = {type(violation).__name__ for violation in invariant.broken(Case(before))}
        return [
            violation
            for violation in violations
            if violation.certain
            and is_certain_now(violation)
            and type(violation).__name__ not in known
        ]


def law_holds(violation: BrokenLaw, *, changes_the_past: bool = True) -> LawHolds:
    """What a remedy for this violation must achieve."""
    return LawHolds(
        law=violation.law.name,
        kind=type(violation).__name__,
        steps=violation.steps,
        changes_the_past=changes_the_past,
    )
