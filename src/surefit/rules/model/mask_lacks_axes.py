"""A mask has fewer axes than the scores of attention, and its rows meet the wrong axis.

## What happens
Scores of attention have the axes (rows, heads, from, to), a mask of padding (rows, to). Axes are
lined up from the right: the rows of the mask meet the axis `from`, and do not fit.

## Why it matters
Where there happen to be as many rows as positions it runs, and every row hides the places of
another one.

## What to do
Axes of size 1 where the mask has none: `mask[:, None, None, :]` for (rows, to),
`mask.unsqueeze(1)` for (rows, from, to).

## How it is recognised
The failing expression in your own code lays a mask over a tensor (`masked_fill`, `where`), or gives
one to `scaled_dot_product_attention`, whose scores have the axes of its queries; the mask has fewer
axes, does not fit from the right, and fits once axes are put behind its rows.

In a script that is only read: a mask of two axes is laid over a tensor with more, by sizes that
stand in the source, and fits only with axes put behind its rows.
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
from surefit.evidence.failing_expressions import parsed
from surefit.interpreter import wording
from surefit.interpreter.violations import MaskMismatch
from surefit.source.edits import appended
from surefit.source.patches import Edit
from surefit.source.reading import called

RULE = Rule(
    "SF310",
    "mask-lacks-axes",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"size of tensor a \(\d+\) must match the size of tensor b \(\d+\) at non-singleton",
            "whether one of the two is a mask with fewer axes, whose rows meet another axis",
        ),
    ),
)

FILLS = ("masked_fill", "masked_fill_")
ATTENDS = "scaled_dot_product_attention"
KEEPS_SHAPE = ("softmax", "dropout", "log_softmax", "masked_fill", "float")


@dataclass(frozen=True, slots=True)
class Laid:
    """A mask and what it is laid over."""

    mask: Value
    over: Value
    index: str
    """What makes them fit: `[:, None, None, :]`."""
    gives: tuple[int, ...] = ()
    """The shape of what comes of it."""


@RULE.on(Crash)
def rows_of_the_mask_meet_another_axis(crash: Crash, seen: Recording) -> Iterator[Finding]:
    frame = crash.own_frame if is_cause(crash, seen) else None
    laid = laid_in(frame) if frame and frame is crash.frames[-1] else None
    if frame is None or laid is None:
        return
    mask, over = laid.mask.shape or (), laid.over.shape or ()
    meets = len(over) - len(mask)
    yield RULE.finding(
        frame.place,
        f"{code(laid.mask.text)} has {len(mask)} axes and {code(laid.over.text)} {len(over)}: the"
        f" {mask[0]} rows of the mask meet axis {meets}, which has the size {over[meets]}.",
        facts=(
            Fact(code(laid.over.text), shape_of(over)),
            Fact(code(laid.mask.text), shape_of(mask)),
            Fact("it fits as", code(laid.mask.text + laid.index)),
        ),
        why="Axes are lined up from the right, and missing ones are put in front of the rows; with"
        f" {over[meets]} rows it runs, and hides the places of other rows.",
        fixes=(fix(seen, frame, laid),),
        python_said=crash.said,
        about=crash.id,
    )


def laid_in(frame: Frame) -> Laid | None:
    expression = parsed(frame.expression)
    if isinstance(expression, ast.Call) and called(expression) == ATTENDS:
        return attended(frame, expression)
    sides = sides_of(expression)
    if sides is None:
        return None
    over, mask = tensor(frame, sides[0]), tensor(frame, plain(sides[1]))
    if over is None or mask is None:
        return None
    index = index_for(mask.shape or (), over.shape or ())
    return Laid(mask, over, index, over.shape or ()) if index else None


def attended(frame: Frame, call: ast.Call) -> Laid | None:
    """The mask of a call of attention, and the scores that it makes of queries and keys."""
    node = mask_of(call)
    given = [tensor(frame, one) for one in call.args[:3]]
    mask = tensor(frame, plain(node)) if node is not None else None
    queries, keys, told = [*given, None, None, None][:3]
    if mask is None or queries is None or keys is None or told is None:
        return None
    asking, asked, width = queries.shape or (), keys.shape or (), (told.shape or (0,))[-1]
    scores = (*asking[:-1], asked[-2]) if len(asked) > 1 else ()
    index = index_for(mask.shape or (), scores)
    if index and (mask.dtype or "").startswith(("int", "uint")):
        index += ".bool()"  # in one call, whole numbers are no mask
    over = Value(f"{queries.text} @ {keys.text}.mT", "Tensor", shape=scores)
    return Laid(mask, over, index, (*asking[:-1], width)) if index else None


def mask_of(call: ast.Call) -> ast.expr | None:
    named = [one.value for one in call.keywords if one.arg == "attn_mask"]
    return named[0] if named else call.args[3] if len(call.args) > 3 else None


def sides_of(node: ast.expr | None) -> tuple[ast.expr, ast.expr] | None:
    """What is hidden in, and the mask."""
    match node:
        case ast.Call(func=ast.Attribute(value=over), args=[mask, _]) if called(node) in FILLS:
            return over, mask
        case ast.Call(args=[over, mask, _]) if called(node) in FILLS:
            return over, mask
        case ast.Call(args=[mask, over, _]) if called(node) == "where":
            return over, mask
    return None


def plain(node: ast.expr) -> ast.expr:
    """`mask` of `~mask`, `mask == 0`, `mask.bool()`."""
    match node:
        case ast.UnaryOp(op=ast.Invert() | ast.Not(), operand=inside):
            return plain(inside)
        case ast.Compare(left=inside, comparators=[ast.Constant()]):
            return plain(inside)
        case ast.Call(func=ast.Attribute(value=inside, attr="bool" | "logical_not"), args=[]):
            return plain(inside)
    return node


def tensor(frame: Frame, node: ast.expr) -> Value | None:
    text = ast.unparse(node)
    return next((one for one in frame.values if one.text == text and one.shape), None)


def index_for(mask: tuple[int, ...], over: tuple[int, ...]) -> str:
    """Behind the rows, as many axes as are missing; empty where it fits as it is, or not so."""
    missing = len(over) - len(mask)
    if len(mask) < 2 or missing < 1 or fits(mask, over[missing:]):
        return ""
    whole = (mask[0], *(1,) * missing, *mask[1:])
    if mask[0] != over[0] or mask[-1] != over[-1] or not fits(whole, over):
        return ""
    return f"[:{', None' * missing}{', :' * (len(mask) - 1)}]"


def fits(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return all(a == b or a == 1 for a, b in zip(one, other, strict=True))


def fix(seen: Recording, frame: Frame, laid: Laid) -> Fix:
    text = f"Put axes of size 1 behind its rows: {code(laid.mask.text + laid.index)}."
    edit, name = mended(seen, frame, laid)
    if edit is None or not name:
        return Fix(text, edit, why_not_tried="its result has no name on that line")
    return Fix(text, edit, ValuesAt(frame.place, (Wanted(name, laid.gives),), after=True))


def mended(seen: Recording, frame: Frame, laid: Laid) -> tuple[Edit | None, str]:
    """The change, and the name that what is masked gets in the same statement."""
    source = seen.source(frame.place)
    node = source.expression_at(frame.span) if source and frame.span else None
    attends = isinstance(node, ast.Call) and called(node) == ATTENDS
    sides = sides_of(node)
    mask = mask_of(node) if attends and isinstance(node, ast.Call) else sides[1] if sides else None
    if source is None or node is None or mask is None:
        return None, ""
    edit = appended(source, plain(mask), laid.index)
    match source.statement_of(node):
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if is_kept(value, node):
            return edit, name
    return edit, ""


def is_kept(value: ast.expr, node: ast.expr) -> bool:
    """What is assigned has the shape of the failing expression."""
    while value is not node:
        if not isinstance(value, ast.Call) or called(value) not in KEEPS_SHAPE:
            return False
        inside = [one for one in value.args[:1] if node in ast.walk(one)]
        if not inside and isinstance(value.func, ast.Attribute):
            inside = [value.func.value] if node in ast.walk(value.func.value) else []
        if not inside:
            return False
        value = inside[0]
    return True


@RULE.on(Script)
def mask_in_the_source_lacks_axes(script: Script, seen: Recording) -> Iterator[Finding]:
    for source, one in wording.violations_in(script, seen, MaskMismatch):
        mask, sizes = one.mask.shape, one.tensor.shape
        if mask.rank != 2 or sizes.rank is None or sizes.rank < 3:
            continue
        if (mask.size(0), mask.size(1)) != (sizes.size(0), sizes.size(-1)):
            continue
        index = f"[:, {'None, ' * (sizes.rank - 2)}:]"
        name = wording.text_of(source, one.mask_node)
        node = one.mask_node if isinstance(one.mask_node, ast.expr) else None
        yield RULE.finding(
            wording.place_of(source, one.mask_node),
            f"{name} is {mask} and is laid over {sizes}: its {mask.size(0)} rows meet axis"
            f" {sizes.rank - 2}, which has the size {sizes.size(-2)}.",
            why="Axes are lined up from the right.",
            fixes=(
                Fix(
                    f"Put axes behind its rows: `{index}`.",
                    appended(source, node, index) if node is not None else None,
                    why_not_tried=wording.ONLY_READ,
                ),
            ),
            severity=Severity.WARNING,
        )
