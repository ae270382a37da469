"""The future is not visible, where each position is to predict the next one."""

from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Fact
from surefit.doctor.measures.experiments import Experimented, OperationSeen
from surefit.doctor.recording import Recording
from surefit.doctor.words import code
from surefit.laws.case import Case
from surefit.laws.invariants.independent_rows import facts, share, why_not
from surefit.laws.law import BrokenLaw, Law, MeasuredOn
from surefit.laws.operations.mixing_operations import CARRY
from surefit.laws.operations.operation_calls import line_of

LAW = Law("future", "the future is not visible")


@dataclass(frozen=True, slots=True, kw_only=True)
class FutureIsSeen(BrokenLaw):
    """Outputs of earlier positions change with later tokens, which are what they should predict."""

    operation: OperationSeen
    argument: str
    """The input whose later half was changed."""
    model: str
    positions: int
    """Of a row."""

    @property
    def ahead(self) -> int | None:
        """Positions ahead that are visible, where a mask hides those that come after them."""
        reach = self.operation.reach
        return reach.after if reach is not None and 0 < reach.after < self.positions - 1 else None

    @property
    def is_inverted(self) -> bool:
        """Later positions are visible and earlier ones are not."""
        reach = self.operation.reach
        return reach is not None and reach.before == 0 and reach.after > 0


def violations_of(case: Case) -> Iterator[BrokenLaw]:
    told: set[str] = set()
    for made in case.recording.all(Experimented):
        tried, operation = made.future, made.future.operation
        place = operation.place or made.place if operation is not None else None
        if not tried.changed or operation is None or place is None or not operation.numbers:
            continue
        if operation.name not in CARRY or f"{place}" in told:
            continue
        told.add(f"{place}")
        yield FutureIsSeen(
            use=line_of(case, place),
            said=f"The loss compares each position with the next token, and {code(made.model)} sees"
            f" it: outputs of earlier positions change by {share(tried)} of their largest value"
            " when later tokens change, where 0 is expected.",
            facts=(
                Fact("changed", f"{tried.on} of {code(tried.argument)}, the later ones"),
                *facts(made, tried)[1:],
                Fact("kept apart until", code(operation.name)),
            ),
            steps=made.step + 2,
            fault=f"the future is visible at {place}",
            operation=operation,
            argument=tried.argument,
            model=made.model,
            positions=tried.size,
        )


def watched(recording: Recording) -> MeasuredOn:
    every = list(recording.all(Experimented))
    tried = [made for made in every if made.future.judged]
    if tried:
        return MeasuredOn(on=f"{code(tried[0].model)} with {tried[0].future.on} changed")
    return MeasuredOn(why_not=why_not(every, lambda made: made.future))
