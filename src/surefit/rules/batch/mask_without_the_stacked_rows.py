"""Heads were stacked on the batch axis, and a mask still has the rows of the batch only.

## What happens
Attention written by hand often puts its heads beside the rows: 8 rows with 4 heads become 32. A
mask of 8 rows does not fit 32, unless there is one head or one row.

## Why it matters
The mask must be repeated in the order in which the heads were stacked. In the other order it has
the right shape, and every row silently hides the positions of another one.

## What to do
`mask.repeat(heads, 1, 1)` where whole batches follow each other (`torch.cat(x.chunk(heads,
-1))`); `mask.repeat_interleave(heads, 0)` where the heads of a row stand together
(`x.transpose(1, 2).reshape(batch * heads, ...)`, `nn.MultiheadAttention`).

## How it is recognised
Two tensors of the failing expression have as many axes, fit together on all but the first, and
have a multiple of rows there. A second run shows that the one with more rows was stacked from parts
that have the rows of the other, and in which order.
"""

import ast
from dataclasses import dataclass

from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Fact, Finding, Severity
from surefit.doctor.observations import Frame
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Expression, Operand, fact_at
from surefit.doctor.words import code, shape_of, times
from surefit.laws.case import Case
from surefit.laws.contracts.attention_rows import MaskRows
from surefit.laws.contracts.unequal_sides import UnequalSides
from surefit.laws.rows.batch_lines import assigned_has
from surefit.lineage.lineage import Lineage
from surefit.lineage.producers import Producer, Way
from surefit.lineage.ways import (
    JOINS,
    RESHAPES,
    history,
    operation,
    shape,
    taken,
    users,
    way,
)
from surefit.remedies.append import Append
from surefit.source.definitions import definition

SYMPTOMS = (
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
)
RULE = Rule("SF234", "mask-without-the-stacked-rows", Severity.ERROR, __doc__, symptoms=SYMPTOMS)
LEAST_AXES = 3
"""Rows, and two axes that attend to each other."""


@dataclass(frozen=True, slots=True)
class Stacking:
    """Where rows were stacked."""

    use: Producer
    """The user's expression."""
    by_row: bool
    """All copies of the first row come first, as with `repeat_interleave`; otherwise the batch as a
    whole is repeated, as with `repeat`."""


@RULE.on(UnequalSides)
def mask_has_the_rows_of_the_batch(broken: UnequalSides, case: Case) -> Finding | None:
    side, mask = broken.side, broken.other
    if broken.more < 2 or broken.expected < 2 or len(side.shape) < LEAST_AXES or broken.of_loss:
        return None
    stacking = stacking_of(case.lineage(side), broken.expected, broken.more)
    if stacking is None or case.own is None:
        return None
    count = count_in(case.own, broken.more)
    named = f" ({code(count)})" if not count.isdigit() else ""
    return finding(
        case,
        mask,
        (broken.expected, broken.more, count, stacking.by_row),
        f"{mask.name} has the {broken.expected} rows of the batch, and in {side.name} each stands"
        f" {broken.more} times: {broken.size} = {times((broken.expected, broken.more))}{named},"
        " stacked on the batch axis.",
        Fact(side.name, shape_of(side.shape)),
        Fact(mask.name, shape_of(mask.shape)),
        *fact_at("stacked at", stacking.use),
        rows=broken.size,
    )


@RULE.on(MaskRows)
def attention_takes_a_mask_for_each_head(broken: MaskRows, case: Case) -> Finding | None:
    mask, rows, heads = broken.mask, broken.rows, broken.heads
    if heads < 2 or len(mask.shape) != LEAST_AXES or mask.shape[0] != rows:
        return None
    return finding(
        case,
        mask,
        (rows, heads, str(heads), True),
        f"{mask.name} has the {rows} rows of the batch, and an attention of {heads} heads takes a"
        f" mask of {rows * heads} = {times((rows, heads))} rows: heads are stacked on the batch"
        " axis.",
        Fact(mask.name, shape_of(mask.shape)),
        Fact("it takes", shape_of(broken.takes)),
        rows=rows,
    )


def finding(
    case: Case,
    mask: Operand,
    stacked: tuple[int, int, str, bool],
    words: str,
    *facts: Fact,
    rows: int,
) -> Finding:
    """`rows`: of what the failing line assigns."""
    count, copies, name, by_row = stacked
    at = created_or_used(mask, case)
    suffix = f".repeat_interleave({name}, 0)"
    order = f"rows 0 to {copies - 1} are all of row 0: as `repeat_interleave` does it"
    if not by_row:
        suffix = f".repeat({name}{', 1' * (len(mask.shape) - 1)})"
        order = f"rows 0, {count}, ... are all of row 0: as `repeat` does it"
    assert case.own is not None
    return case.finding(
        (at or case.own).place,
        words,
        facts=(*facts, Fact("order", order)),
        why="A mask needs one row for each row of what it hides; with one head there is nothing to"
        " repeat, and the same line works.",
        remedies=(
            Append(
                at=at,
                suffix=suffix,
                words=f"Repeat it in the same order: {code(mask.name.strip('`') + suffix)}.",
                must=condition(case, at, mask, count * copies, rows),
                alike=False,
            ),
        ),
    )


def created_or_used(mask: Operand, case: Case) -> Expression | None:
    """The mask where the same function computes it; otherwise where it is used."""
    use, source = mask.use, case.source(case.own)
    if source is None or case.own is None:
        return use
    text = mask.name.strip("`")
    statement = source.statement_at(case.own.place.line or 0)
    parts = ast.walk(statement) if statement is not None else ()
    nodes = [part for part in parts if isinstance(part, ast.expr) and ast.unparse(part) == text]
    node = nodes[0] if nodes else case.node(use)
    if isinstance(node, ast.Name):
        value = definition(source, node)
        if value is not None and source.scope_of(value) is source.scope_of(node):
            node = value
    return case.expression(source, node) if node is not None else use


def condition(
    case: Case, at: Expression | None, mask: Operand, stacked: int, rows: int
) -> ValuesAt | None:
    """The mask has a row for each; where it is repeated in the failing line itself, what that line
    assigns has its rows."""
    own, source, node = case.own, case.source(case.own), case.node(at)
    if own is None or source is None or at is None:
        return None
    if node is None or source.statement_of(node) is not source.statement_at(own.place.line or 0):
        wanted = Wanted(mask.name.strip("`"), (stacked, *mask.shape[1:]))
        return ValuesAt(own.place, (wanted,))
    return assigned_has(case, (rows, None, None))


def stacking_of(lineage: Lineage, rows: int, copies: int) -> Stacking | None:
    """Back from the tensor with more rows."""
    path = history(lineage, rows * copies)
    for producer in path:
        by_row = order_of(lineage, producer, rows, copies)
        if by_row is not None:
            return Stacking(users(path, producer), by_row)
    return None


def order_of(lineage: Lineage, producer: Producer, rows: int, copies: int) -> bool | None:
    """Whether the copies of a row stay together; None where the expression stacks nothing, or its
    order cannot be told from the shapes."""
    before = [inner for inner in taken(lineage, producer) if shape(inner)]
    word = operation(producer)
    if shape(producer)[:1] != (rows * copies,):
        return None
    if word in JOINS:
        return False if shares_rows(lineage, producer, rows) else None
    if word in RESHAPES and before:
        first = shape(before[0])[:2]
        if first == (rows, copies) == (copies, rows):
            return by_moved_axes(before[0], lineage)
        return True if first == (rows, copies) else False if first == (copies, rows) else None
    if word in ("repeat_interleave", "repeat") and before and shape(before[0])[0] == rows:
        return word == "repeat_interleave"
    return None


def shares_rows(lineage: Lineage, producer: Producer, rows: int) -> bool:
    """Parts of a join, or of the list or tuple that it is given, have the rows of the batch."""
    parts = list(taken(lineage, producer))
    inside = [part for outer in parts if not shape(outer) for part in taken(lineage, outer)]
    members = [member.shape for outer in parts for member in outer.value.members.values()]
    shapes = [known for known in (*map(shape, (*parts, *inside)), *members) if known]
    return bool(shapes) and all(known[0] == rows for known in shapes)


def by_moved_axes(producer: Producer, lineage: Lineage) -> bool | None:
    """Where there are as many copies as rows: whether the first axis still is that of the rows."""
    older = way(lineage, lambda known: taken(lineage, known), producer)
    at = next((known for known in older if operation(known) in ("transpose", "permute")), None)
    inputs = lineage.inputs(at) if at is not None else ()
    numbers = [inner.value.scalar for way, inner in inputs if way.way is Way.ARGUMENT]
    if at is not None and operation(at) == "transpose":
        return True if numbers and 0 not in numbers else None
    return numbers[0] == 0 if 0 in numbers[:2] else None


def count_in(frame: Frame, copies: int) -> str:
    """What the frame calls the number of copies: `self.heads`; the number itself if nothing."""
    owner = frame.arguments[0] if frame.layer is not None and frame.arguments else ""
    sizes = frame.layer.sizes if frame.layer is not None else {}
    names = [f"{owner}.{key}" for key, size in sizes.items() if size == copies and "[" not in key]
    scalars = [value for value in frame.values if type(value.scalar) is int]
    names += [value.text for value in scalars if value.scalar == copies]
    heads = [name for name in names if "head" in name.lower()]
    return next(iter([*heads, *names]), str(copies))
