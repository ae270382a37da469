"""The target of each row is an element of its own input: the answer leaks into the question.

## What happens
The number that the model is to predict is already in its input, always at the same position: the
last value of a window, or a column of the table that should have been dropped. The model learns to
copy it.

## Why it matters
The error is impossibly small in training and in validation, as both leak alike. Where the model is
used, the value is not known yet, and the model is useless.

## What to do
For a forecast, take the target from behind the window: `series[i + window]`, not
`series[i + window - 1]`. For a table, drop the target's column from the inputs.

## How it is recognised
At the first losses of a regression, one element of the input equals the target in every row,
exactly, with many different values, while the input has more elements than the target.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.findings import Finding, Place, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.invariants.leaked_targets import TargetAmongInputs
from surefit.laws.runs import law_holds
from surefit.remedies.change import Change
from surefit.source.patches import Edit, Replace
from surefit.source.reading import Source

RULE = Rule("SF275", "target-among-the-inputs", Severity.ERROR, __doc__)
NUMBERS = (1009, 2003)
"""That names stand for: what is the same for both does not depend on them."""


@RULE.on(TargetAmongInputs)
def the_answer_is_in_the_question(broken: TargetAmongInputs, case: Case) -> Finding | None:
    back = broken.back
    pairs = [
        (source, window, index)
        for source in case.recording.sources()
        for window, index in windows(source, back)
    ]
    if len(pairs) != 1:  # a target that is one of the features can be meant
        return None
    source, window, index = pairs[0]
    last = broken.position == broken.width - 1
    where = "the last" if last else f"number {broken.position}"
    return case.finding(
        Place(source.file, index.lineno, index.end_lineno),
        f"The target leaks: it is the same number as {where} of the {broken.width:,} elements of"
        " the input, in every row.",
        facts=broken.facts,
        why="The input contains the target, so the model only has to copy it: the error says"
        " nothing about how well it predicts what it does not know.",
        remedies=(later(source, window, index, broken),),
    )


def later(source: Source, window: ast.Slice, index: ast.expr, broken: TargetAmongInputs) -> Change:
    """The target is what comes after the window."""
    assert window.upper is not None
    end = source.segment(window.upper)
    text = f"{end} : {end} + 1" if isinstance(index, ast.Slice) else end
    return Change(
        to=Edit(source.file, (Replace(source.span(index), text),)),
        words=f"Take the target from behind the window: `[{text}]`, one step after its last value.",
        must=law_holds(broken),
    )


def windows(source: Source, back: int) -> Iterator[tuple[ast.Slice, ast.expr]]:
    """`series[i : i + n]` and `series[i + n - 1]` of one function: the element `back` before the
    end of the window."""
    taken = [node for node in source.every(ast.Subscript) if isinstance(node.ctx, ast.Load)]
    for window in taken:
        if not isinstance(window.slice, ast.Slice) or window.slice.upper is None:
            continue
        for other in taken:
            alike = ast.dump(other.value) == ast.dump(window.value)
            if not alike or source.scope_of(other) is not source.scope_of(window):
                continue
            index = other.slice.elts[0] if isinstance(other.slice, ast.Tuple) else other.slice
            first = only_element(index)
            if first is not None and difference(window.slice.upper, first) == back:
                yield window.slice, index


def only_element(index: ast.expr) -> ast.expr | None:
    """`n` of `[n]` and of `[n : n + 1]`."""
    if not isinstance(index, ast.Slice):
        return index
    if index.lower is None or index.upper is None:
        return None
    return index.lower if difference(index.upper, index.lower) == 1 else None


def difference(left: ast.expr, right: ast.expr) -> int | None:
    """Where it does not depend on what the names stand for."""
    names = sorted({ast.unparse(node) for side in (left, right) for node in atoms(side)})
    results = set()
    for start in NUMBERS:
        known = {name: start + 17 * place * place for place, name in enumerate(names)}
        values = [value_in(side, known) for side in (left, right)]
        results.add(None if None in values else values[0] - values[1])  # type: ignore[operator]
    return results.pop() if len(results) == 1 else None


def atoms(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.BinOp):
        yield from atoms(node.left)
        yield from atoms(node.right)
    elif isinstance(node, ast.Name | ast.Attribute):
        yield node


def value_in(node: ast.expr, known: dict[str, int]) -> int | None:
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.Name() | ast.Attribute():
            return known[ast.unparse(node)]
        case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult()):
            left, right = value_in(node.left, known), value_in(node.right, known)
            if left is None or right is None:
                return None
            if isinstance(node.op, ast.Mult):
                return left * right
            return left + right if isinstance(node.op, ast.Add) else left - right
    return None
