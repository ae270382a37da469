"""Heads were stacked on the batch axis, and a mask still has the rows of the batch only.

## What happens
Attention written by hand often puts its heads beside the rows: 8 rows with 4 heads become 32. A
mask of 8 rows does not fit 32, unless there is one head or one row.

## Why it matters
The mask must be repeated in the order in which the heads were stacked. In the other order it has
the right shape, and every row hides the places of another one without a word.

## What to do
`mask.repeat(heads, 1, 1)` where whole batches stand behind each other (`torch.cat(x.chunk(heads,
-1))`); `mask.repeat_interleave(heads, 0)` where the heads of a row stand together
(`x.transpose(1, 2).reshape(batch * heads, ...)`, `nn.MultiheadAttention`).

## How it is recognised
Two tensors of the failing expression have as many axes, fit together on all but the first, and
have a multiple of rows there. A second run records every operation: the one with more rows was
stacked from parts that have the rows of the other, and in which order is read from the operation.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Frame, Value
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, shape_of, times
from surefit.evidence.stacked_rows import (
    Misfit,
    count_named,
    misfit_in_attention,
    misfit_of_rows,
    nodes_of,
    stacking_of,
)
from surefit.evidence.value_stories import line_of
from surefit.source.definitions import definition
from surefit.source.edits import appended
from surefit.source.patches import Edit
from surefit.source.reading import Source

RULE = Rule(
    "SF234",
    "mask-without-the-stacked-rows",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"size of tensor a \(\d+\) must match the size of tensor b \(\d+\) at non-singleton"
            r" dimension 0",
            "whether one side has its heads stacked on the batch axis and the other, a mask, the"
            " rows of the batch only",
        ),
        Symptom(
            r"3D attn_mask is .*, but should be",
            "how many heads the attention has, and whether the mask has one row for each of them",
        ),
    ),
)


@RULE.on(Crash)
def mask_has_the_rows_of_the_batch(crash: Crash, seen: Recording) -> Iterator[Finding]:
    misfit = misfit_of_rows(crash) if is_cause(crash, seen) else None
    stacking = stacking_of(crash, misfit, seen) if misfit else None
    if misfit is None or stacking is None:
        return
    count = count_named(crash.frames[misfit.frame], misfit.times)
    yield finding(
        crash,
        seen,
        misfit,
        repeated(misfit.plain, count, stacking.by_row),
        f"{code(misfit.plain.text)} has the {misfit.rows} rows of the batch, and in"
        f" {code(misfit.stacked.text)} each stands {misfit.times} times:"
        f" {misfit.rows * misfit.times} = {times((misfit.rows, misfit.times))}"
        f"{said_of(count)}, stacked on the batch axis.",
        Fact(code(misfit.stacked.text), shape_of(misfit.stacked.shape or ())),
        Fact(code(misfit.plain.text), shape_of(misfit.plain.shape or ())),
        Fact("stacked at", f"{stacking.operation.place}  {line_of(stacking.operation, seen)}"),
        Fact("order", order(misfit, stacking.by_row)),
    )


@RULE.on(Crash)
def attention_wants_a_mask_for_each_head(crash: Crash, seen: Recording) -> Iterator[Finding]:
    misfit = misfit_in_attention(crash) if is_cause(crash, seen) else None
    if misfit is None:
        return
    yield finding(
        crash,
        seen,
        misfit,
        repeated(misfit.plain, str(misfit.times), by_row=True),
        f"{code(misfit.plain.text)} has the {misfit.rows} rows of the batch, and an attention of"
        f" {misfit.times} heads takes a mask of {misfit.rows * misfit.times} ="
        f" {times((misfit.rows, misfit.times))} rows: heads are stacked on the batch axis.",
        Fact(code(misfit.plain.text), shape_of(misfit.plain.shape or ())),
        Fact("it takes", shape_of(misfit.stacked.shape or ())),
        Fact("order", order(misfit, by_row=True)),
    )


def finding(
    crash: Crash, seen: Recording, misfit: Misfit, more: str, headline: str, *facts: Fact
) -> Finding:
    frame = crash.frames[misfit.frame]
    source = seen.source(frame.place)
    node = mended_node(source, frame, misfit.plain) if source else None
    return RULE.finding(
        Place(source.file, node.lineno) if source and node else frame.place,
        headline,
        facts=facts,
        why="A mask needs one row for each row of what it hides; with one head there is nothing to"
        " repeat, and the same line works.",
        fixes=(fix(frame, source, node, misfit, more),),
        python_said=crash.said,
        about=crash.id,
    )


def said_of(count: str) -> str:
    return f" ({code(count)})" if not count.isdigit() else ""


def order(misfit: Misfit, by_row: bool) -> str:
    if by_row:
        return f"rows 0 to {misfit.times - 1} are all of row 0: as `repeat_interleave` does it"
    return f"rows 0, {misfit.rows}, ... are all of row 0: as `repeat` does it"


def repeated(value: Value, count: str, by_row: bool) -> str:
    """What follows the mask."""
    if by_row:
        return f".repeat_interleave({count}, 0)"
    ones = ", 1" * (len(value.shape or ()) - 1)
    return f".repeat({count}{ones})"


def mended_node(source: Source, frame: Frame, value: Value) -> ast.expr | None:
    """The mask where it is made, if that is in the same function; otherwise where it is used."""
    statement = source.statement_at(frame.place.line or 0)
    used = next(iter(nodes_of(statement, value.text)), None) if statement else None
    if isinstance(used, ast.Name):
        made = definition(source, used)
        if made is not None and source.scope_of(made) is source.scope_of(used):
            return made
    return used


def fix(
    frame: Frame, source: Source | None, node: ast.expr | None, misfit: Misfit, more: str
) -> Fix:
    text = f"Repeat it in the same order: {code(misfit.plain.text + more)}."
    if source is None or node is None:
        return Fix(text, why_not_tried="the mask was not found in your source")
    edit: Edit = appended(source, node, more)
    return Fix(text, edit, *condition(frame, source, node, misfit))


def condition(
    frame: Frame, source: Source, node: ast.expr, misfit: Misfit
) -> tuple[ValuesAt | None, str]:
    """The mask has a row for each; where it is repeated in the failing line itself, what that
    line makes is as it must be."""
    stacked, plain = misfit.stacked.shape or (), misfit.plain.shape or ()
    statement = source.statement_at(frame.place.line or 0)
    if statement is not source.statement_of(node):
        return ValuesAt(frame.place, (Wanted(misfit.plain.text, (stacked[0], *plain[1:])),)), ""
    names = targets_of(statement)
    rows = misfit.rows if misfit.stacked.text == "attn_mask" else stacked[0]
    if names:
        wanted = Wanted(names[0], (rows, None, None))
        return ValuesAt(frame.place, (wanted,), after=True), ""
    return None, "no line was found at which the rows can be counted"


def targets_of(statement: ast.stmt | None) -> list[str]:
    """What a statement gives a value; of several at once, the first."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return []
    target = statement.targets[0]
    inside = target.elts if isinstance(target, ast.Tuple) else [target]
    return [ast.unparse(one) for one in inside]
