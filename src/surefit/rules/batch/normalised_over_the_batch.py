"""A softmax, a mean or another normalisation is taken over the rows of the batch.

## What happens
`softmax(scores, dim=0)` of a tensor whose first axis holds the rows makes the numbers of different
rows add up to one. `x.mean(0)`, `F.normalize(x, dim=0)` and `x.sum(0)` mix rows in the same way.
The usual reason is a `dim` that was right for a single row, or for steps first.

## Why it matters
Every prediction depends on the other rows of its batch: the metric changes with the batch size, and
a single row cannot be scored at all (its softmax over the batch is 1).

## What to do
Name the axis that is meant, counted from the end: `dim=-1` for classes or features, `dim=1` for the
steps of (rows, steps, features).

## How it is recognised
With the live model in evaluation mode all other rows of a batch were replaced. The output of the
remaining row changed, and this is the first operation whose input keeps rows apart and whose output
does not. Its axis is that of the rows.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.findings import Finding, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.violations import Expression, fact_at
from surefit.doctor.words import code
from surefit.laws.case import Case, Remedy
from surefit.laws.invariants.independent_rows import RowsMix
from surefit.laws.operations.mixing_operations import NORMALISATIONS, REDUCTIONS, SOFTMAX
from surefit.laws.operations.operation_calls import call_of, constructor_of
from surefit.laws.runs import law_holds
from surefit.remedies.arguments import call_at
from surefit.remedies.change import Change
from surefit.source.edits import argument_added, replaced
from surefit.source.patches import Edit

RULE = Rule("SF242", "normalised-over-the-batch", Severity.ERROR, __doc__)
MODULES = ("Softmax", "LogSoftmax", "Softmin")


@RULE.on(RowsMix)
def an_axis_is_that_of_the_rows(broken: RowsMix, case: Case) -> Finding | None:
    operation = broken.operation
    if operation.name not in SOFTMAX | REDUCTIONS | NORMALISATIONS:
        return None
    in_module = operation.kind in MODULES
    written = constructor_of(operation, case) if in_module else call_of(operation, case)
    shape = operation.inputs[0] if operation.inputs else ()
    axis = operation.axes[0][0] if operation.axes and operation.axes[0] else 0
    dim = dim_of(written, case)
    shown = f" (dim={dim})" if dim else ""
    return case.finding(
        (written or broken.use).place,
        f"{code(operation.name)} is taken over the batch axis{shown}: each row of the batch changes"
        " the outputs of the others.",
        facts=(
            *broken.facts,
            *(fact_at("runs at", broken.use) if in_module else ()),
        ),
        why=f"Rows of a batch are independent examples. Over axis {axis} their numbers are"
        " normalised together, so that predictions depend on the rest of the batch.",
        remedies=ways(broken, case, written, shape, axis),
    )


def dim_node(written: Expression | None, case: Case) -> ast.expr | None:
    """The axis as the user writes it."""
    source, call = call_at(case, written)
    if source is None or call is None:
        return None
    named = source.argument(call, "dim") or source.argument(call, "axis")
    if named is not None:
        return named
    numbers = [arg for arg in call.args if isinstance(ast_value(arg), int)]
    return numbers[0] if len(numbers) == 1 else None


def ast_value(node: ast.expr) -> object:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


def dim_of(written: Expression | None, case: Case) -> str:
    node = dim_node(written, case)
    return ast.unparse(node) if node is not None else ""


def ways(
    broken: RowsMix, case: Case, written: Expression | None, shape: tuple[int, ...], axis: int
) -> Iterator[Remedy]:
    """Every other axis, the last one first; of several the choice is the user's."""
    source, call = call_at(case, written)
    if source is None or call is None:
        return
    others = [at for at in range(len(shape)) if at != axis][::-1]
    node = dim_node(written, case)
    for other in others:
        text = "-1" if other == len(shape) - 1 else str(other)
        edit: Edit | None
        if node is not None:
            edit = replaced(source, node, text)
        elif not call.args[1:] and broken.operation.name in SOFTMAX:
            edit = argument_added(source, call, "dim", text)
        else:
            return
        yield Change(
            to=edit,
            words=f"Take it over axis {text}: {code(f'dim={text}')}.",
            must=law_holds(broken),
            choice=len(others) > 1 or broken.operation.name in REDUCTIONS,
        )
