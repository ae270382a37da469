"""Rows of a batch do not influence each other."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Fact
from surefit.doctor.measures.experiments import Experimented, OperationSeen, TriedChange
from surefit.doctor.recording import Recording
from surefit.doctor.words import code, shape_of
from surefit.laws.case import Case
from surefit.laws.law import BrokenLaw, Law, MeasuredOn
from surefit.laws.operations.mixing_operations import mixes_rows, moves_rows
from surefit.laws.operations.operation_calls import line_of

LAW = Law("independent_rows", "rows of a batch do not influence each other")


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsMix(BrokenLaw):
    """An output of one row changes when other rows of the batch do."""

    operation: OperationSeen
    rows: int
    """That were tried."""
    changed: float
    """Largest change, over the largest value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowOrderMatters(BrokenLaw):
    """The same rows in another order give other outputs."""

    operation: OperationSeen
    rows: int
    changed: float


def violations_of(case: Case) -> Iterator[BrokenLaw]:
    told: set[str] = set()
    for made in case.recording.all(Experimented):
        for broken in (mixed(made, case), moved(made, case)):
            if broken is not None and broken.fault not in told:
                told.add(broken.fault)
                yield broken


def mixed(made: Experimented, case: Case) -> RowsMix | None:
    tried, operation = made.rows, made.rows.operation
    if not tried.changed or operation is None or not mixes_rows(operation, made.assumed):
        return None
    place = operation.place or made.place
    if place is None:
        return None
    return RowsMix(
        use=line_of(case, place),
        said=f"The output of {code(made.model)} for one row changes when other rows of the batch"
        f" change: by {share(tried)} of its largest value, where 0 is expected.",
        facts=(*facts(made, tried), *where(operation)),
        steps=made.step + 2,
        fault=f"rows mix at {place}",
        operation=operation,
        rows=tried.size,
        changed=tried.changed,
    )


def moved(made: Experimented, case: Case) -> RowOrderMatters | None:
    tried, operation = made.order, made.order.operation
    if not tried.changed or operation is None or not moves_rows(operation):
        return None
    place = operation.place or made.place
    if place is None or made.assumed:
        return None
    return RowOrderMatters(
        use=line_of(case, place),
        said=f"The output of {code(made.model)} for a row depends on where the row lies in the"
        f" batch: in another order it changes by {share(tried)} of its largest value.",
        facts=(*facts(made, tried), *where(operation)),
        steps=made.step + 2,
        fault=f"rows mix at {place}",
        operation=operation,
        rows=tried.size,
        changed=tried.changed,
    )


def share(tried: TriedChange) -> str:
    return f"{tried.changed:.0%}" if tried.changed < 10 else f"{tried.changed:.3g} times"


def facts(made: Experimented, tried: TriedChange) -> tuple[Fact, ...]:
    return (
        Fact("tried on", f"{tried.on}, in evaluation mode, at step {made.step:,}"),
        Fact("output", f"{shape_of(tried.output)}, changed by {share(tried)}, 0 expected"),
    )


def where(operation: OperationSeen) -> tuple[Fact, ...]:
    """The first operation that mixes."""
    shapes = [
        f"{shape_of(shape)}, rows along axis {axes[0]}"
        for shape, axes in zip(operation.inputs, operation.axes, strict=True)
        if axes
    ]
    name = code(operation.name)
    within = f" of {code(operation.module)}" if operation.module else ""
    given = f" is given {' and '.join(shapes[:2])}" if shapes else ""
    return (Fact("rows are apart until", f"{name}{within}{given}"),)


def watched(recording: Recording) -> MeasuredOn:
    every = list(recording.all(Experimented))
    held = [made for made in every if made.rows.judged]
    if held:
        models = ", ".join(dict.fromkeys(code(made.model) for made in held))
        return MeasuredOn(on=f"{models} with {held[0].rows.on} replaced")
    return MeasuredOn(why_not=why_not(every, lambda made: made.rows))


def why_not(every: list[Experimented], of: Callable[[Experimented], TriedChange]) -> str:
    for made in every:
        if not made.why_not and not made.repeats:
            return f"{code(made.model)} keeps a state: the same input gives another output"
    reasons = [made.why_not or of(made).why_not for made in every]
    if not every:
        return "no model was trained"
    return next((reason for reason in reasons if reason), "no output has an axis of rows")
