"""Operations of the model run along the axes that are meant."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

from surefit.doctor.findings import Fact
from surefit.doctor.measures.experiments import Experimented, OperationSeen
from surefit.doctor.recording import Recording
from surefit.doctor.words import code, shape_of
from surefit.laws.case import Case
from surefit.laws.invariants.independent_rows import why_not
from surefit.laws.law import BrokenLaw, Law, MeasuredOn
from surefit.laws.mixing_operations import VIEWS
from surefit.laws.moved_axes import names_a_moved_axis, nests, order_of
from surefit.laws.operation_calls import call_of, line_of

LAW = Law("operation_axes", "operations run along the axes that are meant")


@dataclass(frozen=True, slots=True, kw_only=True)
class AxesScrambled(BrokenLaw):
    """A `view` is to move an axis of every row, which it never does."""

    operation: OperationSeen
    order: tuple[int, ...]
    """Of the axes, in which they would join to the output; of the output's where it has more."""
    also: tuple["AxesScrambled", ...] = ()
    """At other lines: heads are split and joined, say."""


def violations_of(case: Case) -> Iterator[BrokenLaw]:
    known: dict[str, AxesScrambled] = {}
    for made in case.recording.all(Experimented):
        for operation in made.operations:
            broken = scrambled(made, operation, case)
            if broken is not None:
                known.setdefault(broken.fault, broken)
    every = tuple(known.values())
    if every:
        steps = max(broken.steps for broken in every)
        yield replace(every[0], also=every[1:], steps=steps)


def scrambled(made: Experimented, operation: OperationSeen, case: Case) -> AxesScrambled | None:
    if operation.name not in VIEWS or not operation.numbers or operation.place is None:
        return None
    before, after = operation.inputs[0], operation.output
    order = moved_order(before, after, made.pass_rows)
    if not order or (nests(before, after) and not is_named(operation, case)):
        return None
    shapes = f"from {shape_of(before)} to {shape_of(after)}"
    return AxesScrambled(
        law=LAW,
        use=line_of(case, operation.place),
        said=f"{code(operation.name)} {shapes} moves no axis: it scrambles values of every row.",
        facts=(
            Fact("sizes", f"{shape_of(before)} before, {shape_of(after)} after"),
            Fact("looked at", f"a forward pass of {code(made.model)} at step {made.step:,}"),
        ),
        steps=made.step + 2,
        fault=f"axes are scrambled at {operation.place}",
        operation=operation,
        order=order,
    )


def moved_order(before: tuple[int, ...], after: tuple[int, ...], rows: int) -> tuple[int, ...]:
    """Empty where no axis has to move, or the first one has."""
    if not before or rows < 2 or before[0] % rows or prod(before) != prod(after):
        return ()
    first, second = plain(before), plain(after)
    fine, coarse = (first, second) if len(first) >= len(second) else (second, first)
    order = order_of(fine, coarse)
    return order if order != tuple(range(len(order))) else ()


def plain(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The first axis, and others that have more than one element."""
    return (shape[0], *(size for size in shape[1:] if size != 1)) if shape else ()


def is_named(operation: OperationSeen, case: Case) -> bool:
    written = call_of(operation, case)
    source, call = case.source(written), case.node(written)
    if source is None or not isinstance(call, ast.Call):
        return False
    sizes = written_sizes(call)
    return names_a_moved_axis(source, call, sizes, (operation.inputs[0], operation.output))


def written_sizes(call: ast.Call) -> list[ast.expr]:
    """`b, t, c` of `x.view(b, t, c)` and of `x.view((b, t, c))`."""
    if len(call.args) == 1 and isinstance(call.args[0], ast.Tuple | ast.List):
        return list(call.args[0].elts)
    return list(call.args)


def watched(recording: Recording) -> MeasuredOn:
    every = list(recording.all(Experimented))
    looked = [made for made in every if made.pass_rows]
    if looked:
        return MeasuredOn(on=f"a forward pass of {code(looked[0].model)}")
    return MeasuredOn(why_not=why_not(every, lambda made: made.rows))
