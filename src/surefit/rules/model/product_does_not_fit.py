"""Two matrices were multiplied whose inner sizes differ, and a transposition is missing.

## What happens
`a @ b` needs the last size of `a` to be the last but one of `b`. Queries and keys are both
(rows, positions, features): their product is `q @ k.transpose(-2, -1)`.

## Why it matters
Where positions and features happen to be equally many it runs, and multiplies the wrong axes.

## What to do
`.transpose(-2, -1)` behind the one whose axes are in the other order (`.mT` is the same).

## How it is recognised
The failing expression in your own code is a product, the inner sizes of its two tensors differ, and
turning one of them makes them equal. If turning the other one would, too, both are given and none
is tried.

In a script that is only read: the inner sizes of the two tensors of a product are known from the
source and differ, and turning one of them makes them equal.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.observations import Crash, Frame, Script, Value
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, shape_of
from surefit.evidence.failing_expressions import assigned_to, parsed
from surefit.interpreter import wording
from surefit.interpreter.violations import ProductMismatch
from surefit.source.edits import appended
from surefit.source.patches import Edit
from surefit.source.reading import called

RULE = Rule(
    "SF309",
    "product-does-not-fit",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"shapes cannot be multiplied|Expected size for first two dimensions of batch2",
            "the shapes of both tensors, and whether one of them is the wrong way round",
        ),
    ),
)

PRODUCTS = ("matmul", "mm", "bmm")
TURN = ".transpose(-2, -1)"


@dataclass(frozen=True, slots=True)
class Product:
    """The two sides as the source writes them, and what they are."""

    left: str
    right: str
    first: tuple[int, ...]
    second: tuple[int, ...]


@RULE.on(Crash)
def inner_sizes_differ(crash: Crash, seen: Recording) -> Iterator[Finding]:
    frame = crash.own_frame if is_cause(crash, seen) else None
    product = product_in(frame) if frame and frame is crash.frames[-1] else None
    if frame is None or product is None or product.first[-1] == product.second[-2]:
        return
    ways = list(ways_to_turn(product))
    if not ways:
        return
    first, second = product.first, product.second
    yield RULE.finding(
        frame.place,
        f"{code(product.left)} has {first[-1]} in its last axis, and {code(product.right)}"
        f" {second[-2]} in its last but one: one of them is the wrong way round.",
        facts=(
            Fact(code(product.left), shape_of(first)),
            Fact(code(product.right), shape_of(second)),
        ),
        why="A product sums over the last axis of one and the last but one of the other.",
        fixes=tuple(fix(seen, frame, way, len(ways) == 1) for way in ways),
        python_said=crash.said,
        about=crash.id,
    )


@dataclass(frozen=True, slots=True)
class Way:
    """Which side is turned, and the shape that comes out."""

    text: str
    is_right: bool
    result: tuple[int, ...]


def ways_to_turn(product: Product) -> Iterator[Way]:
    first, second = product.first, product.second
    if first[-1] == second[-1]:
        yield Way(product.right, True, (*first[:-1], second[-2]))
    if first[-2] == second[-2]:
        yield Way(product.left, False, (*first[:-2], first[-1], second[-1]))


def product_in(frame: Frame) -> Product | None:
    sides = sides_of(parsed(frame.expression))
    if sides is None:
        return None
    left, right = (ast.unparse(one) for one in sides)
    first, second = tensor(frame, left), tensor(frame, right)
    if first is None or second is None or not first.shape or not second.shape:
        return None
    if len(first.shape) != len(second.shape) or len(first.shape) < 2:
        return None
    if first.shape[:-2] != second.shape[:-2]:
        return None
    return Product(left, right, first.shape, second.shape)


def sides_of(node: ast.expr | None) -> tuple[ast.expr, ast.expr] | None:
    match node:
        case ast.BinOp(left=left, op=ast.MatMult(), right=right):
            return left, right
        case ast.Call(args=[left, right]) if called(node) in PRODUCTS:
            return left, right
        case ast.Call(func=ast.Attribute(value=left), args=[right]) if called(node) in PRODUCTS:
            return left, right
    return None


def tensor(frame: Frame, text: str) -> Value | None:
    return next((one for one in frame.values if one.text == text and one.shape), None)


def fix(seen: Recording, frame: Frame, way: Way, is_only: bool) -> Fix:
    target = assigned_to(frame)
    edit = turned(seen, frame, way)
    must = ValuesAt(frame.place, (Wanted(target, way.result),), after=True) if target else None
    why_not = "" if is_only else "two ways fit, and only you know which is meant"
    if is_only and (edit is None or must is None):
        why_not = "its result has no name on that line"
    return Fix(f"Turn {code(way.text)}: {code(way.text + TURN)}.", edit, must, why_not)


def turned(seen: Recording, frame: Frame, way: Way) -> Edit | None:
    source = seen.source(frame.place)
    node = source.expression_at(frame.span) if source and frame.span else None
    sides = sides_of(node) if node is not None else None
    if source is None or sides is None:
        return None
    return appended(source, sides[1 if way.is_right else 0], TURN)


@RULE.on(Script)
def sizes_in_the_source_do_not_fit(script: Script, seen: Recording) -> Iterator[Finding]:
    for source, one in wording.violations_in(script, seen, ProductMismatch):
        left, right = (tensor.shape for tensor in one.tensors)
        turned = []
        if right.has(-2) and left.size(-1) == right.size(-1):
            turned.append(one.nodes[1])
        if left.has(-2) and left.size(-2) == right.size(-2):
            turned.append(one.nodes[0])
        if not turned:
            continue
        names = [wording.text_of(source, node) for node in one.nodes]
        yield RULE.finding(
            wording.place_of(source, one.node),
            f"{names[0]} has {left.size(-1)} in its last axis, and {names[1]} {right.size(-2)} in"
            " its last but one: one of them is the wrong way round.",
            facts=(Fact(names[0], str(left)), Fact(names[1], str(right))),
            fixes=tuple(
                Fix(
                    f"Turn {wording.text_of(source, node)}: `.transpose(-2, -1)`.",
                    appended(source, node, ".transpose(-2, -1)")
                    if isinstance(node, ast.expr) and len(turned) == 1
                    else None,
                    why_not_tried=wording.ONLY_READ,
                )
                for node in turned
            ),
            severity=Severity.WARNING,
        )
