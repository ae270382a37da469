"""Square pictures are transposed, and the targets of their pixels are not.

## What happens
`image.transpose((2, 1, 0))` turns height x width x channels into channels x width x height: the
picture is mirrored at its diagonal. Its mask stays height x width. With square crops every shape
agrees, so that nothing complains. An augmentation that flips only one of the two does the same.

## Why it matters
Each pixel is trained on the target of another one. The loss stops at a plateau, and the overlap of
predictions and masks stays poor.

## What to do
Keep height before width: `image.transpose((2, 0, 1))`, `image.permute(2, 0, 1)`. Flip and rotate a
picture and its mask together.

## How it is recognised
For the first batches the targets were held against the inputs pixel by pixel, as they are and
turned: the correlation is at least twice as large when they are turned, for most rows.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.findings import Finding, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.violations import Expression
from surefit.doctor.words import code
from surefit.laws.case import Case, Remedy
from surefit.laws.invariants.alignment import TargetsTurned
from surefit.laws.runs import law_holds
from surefit.remedies.change import Change
from surefit.source.edits import replaced
from surefit.source.reading import Source, called

RULE = Rule("SF229", "picture-transposed", Severity.ERROR, __doc__)
MOVES = ("transpose", "permute", "moveaxis")
WIDTH_FIRST = (2, 1, 0)


@RULE.on(TargetsTurned)
def pictures_and_their_targets_lie_differently(broken: TargetsTurned, case: Case) -> Finding:
    swaps = list(swapped(case)) if broken.turned == "transposed" else []
    at = swaps[0][2] if len(swaps) == 1 else broken.use
    written = f": {code(at.text)} swaps height and width" if len(swaps) == 1 else ""
    return case.finding(
        at.place,
        f"Pictures are {broken.turned} relative to the targets of their pixels{written}.",
        facts=broken.facts,
        why="Pictures are square, so that shapes agree whichever axis comes first. Each pixel is"
        " trained on the target of another one.",
        remedies=ways(broken, swaps),
    )


Swap = tuple[Source, ast.expr, Expression]


def swapped(case: Case) -> Iterator[Swap]:
    """Calls that make channels x width x height of height x width x channels: their axes."""
    for source, call in case.recording.every(ast.Call):
        if called(call) not in MOVES:
            continue
        for node in call.args:
            if axes_of(node) == WIDTH_FIRST:
                yield source, node, case.expression(source, call)
        if tuple(map(axis_of, call.args)) == WIDTH_FIRST:
            yield source, call, case.expression(source, call)


def axes_of(node: ast.expr) -> tuple[object, ...]:
    parts = node.elts if isinstance(node, ast.Tuple | ast.List) else []
    return tuple(map(axis_of, parts))


def axis_of(node: ast.expr) -> object:
    return node.value if isinstance(node, ast.Constant) else None


def ways(broken: TargetsTurned, swaps: list[Swap]) -> Iterator[Remedy]:
    for source, node, _ in swaps:
        if isinstance(node, ast.Call):
            assert isinstance(node.func, ast.Attribute)
            text = f"{source.segment(node.func)}(2, 0, 1)"
        else:
            text = "[2, 0, 1]" if isinstance(node, ast.List) else "(2, 0, 1)"
        yield Change(
            to=replaced(source, node, text),
            words="Keep height before width: (2, 0, 1).",
            must=law_holds(broken),
        )
