"""Features are standardised along each row, instead of each over all rows.

## What happens
`x.mean(axis=1)` of a table of rows is the mean over the features of one row: a pressure in pascal,
a temperature and a count are averaged. Divided by their common width, the feature with the largest
unit is the same number in every row, and all others are another one.

## Why it matters
Nothing is raised, and the inputs look standardised. What tells the rows apart is lost in the digits
behind: the model learns slowly or not at all.

## What to do
Take mean and deviation over the rows, for each feature: `axis=0` in NumPy and pandas, `dim=0` in
PyTorch; a `StandardScaler` does so.

## How it is recognised
Rows that the model is trained on have mean 0 and deviation 1, or length 1, each by itself; nearly
all of their squares is the same in every row; and the source takes a mean and a width along the
rows. Not for rows of more than 64 features: a spectrum is scaled by itself on purpose.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.findings import Finding, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.invariants.rows_differ import RowsAlike
from surefit.laws.rows.scaling_sources import LOCATION, WIDTH, is_of_a_model
from surefit.laws.runs import law_holds
from surefit.remedies.change import Change
from surefit.source.edits import replaced
from surefit.source.patches import all_of
from surefit.source.reading import Source, called

RULE = Rule("SF290", "standardised-along-the-row", Severity.ERROR, __doc__)

NORMS = frozenset(("norm", "normalize", "normalise"))
ROWS = (1, -1)


@RULE.on(RowsAlike)
def each_row_is_scaled_by_itself(broken: RowsAlike, case: Case) -> Finding | None:
    for source in case.recording.sources():
        axes = list(axes_along_rows(source))
        if not axes:
            continue
        words = "Take mean and deviation over the rows, for each feature: axis 0."
        return case.finding(
            case.expression(source, axes[0]).place,
            "Features are standardised along each row instead of over all rows: axis 1 is that of"
            f" the {len(broken.given.features)} features, and axis 0 that of the rows.",
            facts=broken.facts,
            why=f"{broken.said} What tells rows apart is lost beside the feature with the largest"
            " unit.",
            remedies=(
                Change(
                    to=all_of(replaced(source, axis, "0") for axis in axes),
                    words=words,
                    must=law_holds(broken),
                ),
            ),
        )
    return None


def axes_along_rows(source: Source) -> Iterator[ast.expr]:
    """Of a mean and a width that are taken of the same thing, or of a norm."""
    found: dict[tuple[ast.AST, str], list[tuple[str, ast.expr]]] = {}
    for call in source.every(ast.Call):
        axis = axis_of(source, call)
        if axis is not None and not is_of_a_model(source, call):
            owner = reduced_text(source, call)
            found.setdefault((source.scope_of(call), owner), []).append((called(call), axis))
    for calls in found.values():
        names = {name for name, _ in calls}
        if (names & LOCATION and names & WIDTH) or names & NORMS:
            yield from (axis for _, axis in calls)
            return


def axis_of(source: Source, call: ast.Call) -> ast.expr | None:
    """`1` of `x.mean(1)`, `np.mean(x, axis=1)` and `x.std(dim=-1)`."""
    if called(call) not in LOCATION | WIDTH | NORMS:
        return None
    by_function = bool(source.imported(call.func))
    at = source.argument(call, "axis") or source.argument(call, "dim", 1 if by_function else 0)
    match at:
        case ast.Constant(value=int(number)) if number in ROWS:
            return at
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1)):
            return at
    return None


def reduced_text(source: Source, call: ast.Call) -> str:
    if source.imported(call.func):
        return source.segment(call.args[0]) if call.args else ""
    return source.segment(call.func.value) if isinstance(call.func, ast.Attribute) else ""
