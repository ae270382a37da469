"""What is added to a row depends on where the row lies in the batch.

## What happens
A positional encoding is written for (steps, rows, features): `x + self.pe[: x.size(0)]`. Given
(rows, steps, features), it adds the first encoding to every step of the first row, the second to
every step of the second row. Shapes agree by broadcasting, and nothing complains.

## Why it matters
All steps of a row get the same encoding, so that the model knows nothing of their order, and the
same row gives another output at another place of the batch.

## What to do
Take the encodings along the axis of steps: `x + self.pe[: x.size(1)]` with a table of (steps,
features), or of (1, steps, features) with `self.pe[:, : x.size(1)]`.

## How it is recognised
With the live model in evaluation mode the rows of a batch were given in the opposite order. The
outputs did not follow, and this is the first operation whose inputs follow, or do not depend on
rows, and whose output does neither.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.findings import Finding, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.words import code
from surefit.laws.case import Case, Remedy
from surefit.laws.invariants.independent_rows import RowOrderMatters
from surefit.laws.runs import law_holds
from surefit.remedies.change import Change
from surefit.source.edits import replaced
from surefit.source.reading import Source

RULE = Rule("SF244", "positions-along-the-batch", Severity.ERROR, __doc__)


@RULE.on(RowOrderMatters)
def rows_get_what_belongs_to_steps(broken: RowOrderMatters, case: Case) -> Finding:
    return case.finding(
        broken.use.place,
        f"{code(broken.use.text)} combines each row with a value for its place in the batch: the"
        " same rows in another order give other outputs."
        if broken.use.text
        else "Each row is combined with a value for its place in the batch.",
        facts=broken.facts,
        why="What lies along the batch axis here belongs to positions of a sequence, say a"
        " positional encoding written for (steps, rows, features).",
        remedies=ways(broken, case),
    )


def ways(broken: RowOrderMatters, case: Case) -> Iterator[Remedy]:
    source, line = case.source(broken.use.place), broken.use.place.line
    statement = source.statement_at(line) if source is not None and line else None
    if source is None or statement is None:
        return
    for node in ast.walk(statement):
        if isinstance(node, ast.Subscript):
            for text in along_steps(source, node):
                yield Change(
                    to=replaced(source, node, text),
                    words=f"Take them along the steps: {code(text)}.",
                    must=law_holds(broken),
                )


def along_steps(source: Source, node: ast.Subscript) -> Iterator[str]:
    """`pe[: x.size(0)]` and `pe[:, : x.size(0)]`, for rows first."""
    table = source.segment(node.value)
    inner = source.segment(node.slice)
    later = inner.replace(".size(0)", ".size(1)").replace(".shape[0]", ".shape[1]")
    if later == inner:
        return
    if isinstance(node.slice, ast.Tuple):
        yield f"{table}[{later}]"
    else:
        yield f"{table}[{later}].transpose(0, 1)"
        yield f"{table}[{later}]"
