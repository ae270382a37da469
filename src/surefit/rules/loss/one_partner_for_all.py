"""The targets of a contrastive loss are all zero where each row should have its own column.

## What happens
The logits have a row and a column for each element of the batch, a product of two embeddings, so
that the matching pairs lie on the diagonal. The targets are all the same number, usually zeros:
each row is told that its positive is the first row of the batch.

## Why it matters
No embedding can do that. The loss stays near `log(batch size)`, and retrieval stays at chance.

## What to do
Use `torch.arange(n)` as targets: row `i` belongs to column `i`. Zeros are right only where column 0
holds the positive of each row and the other columns its negatives, as with a queue.

## How it is recognised
At every loss that was looked at, the logits are square and the product of two computed tensors, and
all targets are one number.
"""

import ast

from surefit.doctor.findings import Finding, Fix, Place, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.losses.loss_predictions import OnePartnerForAll
from surefit.laws.operations.operation_calls import calls_near
from surefit.laws.runs import law_holds
from surefit.remedies.change import Change
from surefit.source.patches import Edit, Replace
from surefit.source.reading import Source, called

RULE = Rule("SF434", "one-partner-for-all", Severity.ERROR, __doc__)
CONSTANTS = ("zeros", "new_zeros", "zeros_like")


@RULE.on(OnePartnerForAll)
def every_row_matches_the_first(broken: OnePartnerForAll, case: Case) -> Finding:
    site = broken.site
    source = case.source(broken.use.place)
    place = broken.use.place
    remedies: list[Change | Fix] = [Fix("Use `torch.arange(n)` as targets.")]
    target = constant_target(source, place.line) if source is not None and place.line else None
    text = arange_for(source, target) if source is not None and target is not None else ""
    if source is not None and target is not None:
        place = Place(source.file, target.lineno, target.end_lineno)
    if source is not None and target is not None and text:
        edit = Edit(source.file, (Replace(source.span(target), text),))
        words = f"Make each row the partner of its own column, the diagonal: `{text}`."
        remedies = [Change(to=edit, words=words, must=law_holds(broken))]
    size = site.shape[0]
    return case.finding(
        place,
        f"Targets of the contrastive loss are all {site.target_least:g}: {size} rows × {size}"
        " columns of logits, and every row has the same column as its positive, not its own.",
        facts=broken.facts,
        why="The logits are a product of two embeddings, every row against every row: the matching"
        " pairs lie on the diagonal, so the targets are `arange`, not zeros.",
        remedies=remedies,
    )


def constant_target(source: Source, line: int) -> ast.Call | None:
    """`torch.zeros(...)` that is the second argument of a call on the line of the loss."""
    for call in calls_near(source, line):
        given = source.argument(call, "target", 1)
        value = source.value_of(given) if given is not None else None
        while (
            isinstance(value, ast.Call)
            and isinstance(value.func, ast.Attribute)
            and value.func.attr in ("long", "to", "cuda")
        ):
            value = value.func.value
        if isinstance(value, ast.Call) and called(value) in CONSTANTS:
            return value
    return None


def arange_for(source: Source, call: ast.Call) -> str:
    """With the size and the device of the zeros; their dtype is that of `arange` already."""
    first = source.argument(call, "size", 0)
    if first is None or len(call.args) != 1:
        return ""
    if isinstance(first, ast.Tuple | ast.List) and len(first.elts) == 1:
        first = first.elts[0]
    device = source.argument(call, "device")
    where = f", device={source.segment(device)}" if device is not None else ""
    size = source.segment(first)
    owner = source.segment(call.func.value) if isinstance(call.func, ast.Attribute) else "torch"
    if called(call) == "zeros":
        name = f"{owner}.arange" if isinstance(call.func, ast.Attribute) else "torch.arange"
        return f"{name}({size}{where})"
    if called(call) == "new_zeros":
        return f"torch.arange({size}, device={owner}.device)"
    return f"torch.arange(len({size}), device={size}.device)"
