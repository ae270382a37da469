"""A `view` or `reshape` puts numbers of different rows into one.

## What happens
`x.view(batch, -1)` of a tensor (steps, rows, features) does not move axes: it cuts the memory, in
which the rows of one step lie side by side, into pieces of the right size. Each piece holds numbers
of several rows. The shape is the one that was wanted, so that nothing complains.

## Why it matters
Each row of the result is a mixture of examples with the label of one of them. The loss stays high,
or the model learns something that depends on the order of the batch.

## What to do
Move the axis of rows to the front first: `x.transpose(0, 1).reshape(batch, -1)`, or
`x.permute(...)`. `view` and `reshape` only split and join neighbouring axes.

## How it is recognised
With the live model in evaluation mode all other rows of a batch were replaced. The output of the
remaining row changed, and this is the first operation whose input keeps rows apart and whose output
does not.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.findings import Finding, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.violations import Expression
from surefit.doctor.words import code, shape_of
from surefit.laws.case import Case, Remedy
from surefit.laws.invariants.independent_rows import RowsMix
from surefit.laws.operations.mixing_operations import VIEWS
from surefit.laws.operations.operation_calls import call_of
from surefit.laws.runs import law_holds
from surefit.remedies.arguments import call_at
from surefit.remedies.change import Change
from surefit.source.patches import Edit, Replace

RULE = Rule("SF243", "view-mixes-rows", Severity.ERROR, __doc__)
METHODS = ("view", "reshape", "flatten")


@RULE.on(RowsMix)
def shape_is_right_and_rows_are_not(broken: RowsMix, case: Case) -> Finding | None:
    operation = broken.operation
    if operation.name not in VIEWS:
        return None
    shape = operation.inputs[0] if operation.inputs else ()
    axis = operation.axes[0][0] if operation.axes and operation.axes[0] else 0
    written = call_of(operation, case)
    return case.finding(
        (written or broken.use).place,
        f"{code(operation.name)} from {shape_of(shape)} to {shape_of(operation.output)} mixes the"
        f" rows of the batch, which lie along axis {axis}.",
        facts=broken.facts,
        why=f"{code(operation.name)} never moves an axis: it cuts the memory in other places, so"
        " that a row of the result holds numbers of several rows. Transpose or permute first.",
        remedies=ways(broken, case, written, len(shape), axis),
    )


def ways(
    broken: RowsMix, case: Case, written: Expression | None, axes: int, axis: int
) -> Iterator[Remedy]:
    source, call = call_at(case, written)
    if source is None or call is None or not isinstance(call.func, ast.Attribute):
        return
    if call.func.attr not in METHODS or axis == 0:
        return
    owner = call.func.value
    if source.imported(owner):
        return
    span = source.span(call.func)
    order = ", ".join(map(str, (axis, *(at for at in range(axes) if at != axis))))
    swap = f"transpose(0, {axis})"
    moves = (swap,) if axis == 1 else (f"permute({order})", swap)
    name = "reshape" if call.func.attr == "view" else call.func.attr
    text = source.segment(owner)
    for move in moves:
        yield Change(
            to=Edit(source.file, (Replace(span, f"{text}.{move}.{name}"),)),
            words=f"Move the rows to the front first: {code(f'.{move}')}.",
            must=law_holds(broken),
            choice=len(moves) > 1,
        )
