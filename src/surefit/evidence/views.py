"""A call of `.view` that failed on a tensor whose elements do not lie one behind the other."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import Crash, Frame, Operation, Value
from surefit.doctor.recording import Recording
from surefit.evidence.frame_names import name_in
from surefit.evidence.strided import explains, how, strided_behind
from surefit.evidence.value_stories import story_of_value, taken
from surefit.interpreter.strides import can_view, inferred
from surefit.source.reading import Source

SAYS_SO = "view size is not compatible"
"""Asked only where the numbers of a call cannot be read from its frame."""

OPERATIONS = {"__getitem__": "slice", "split": "slice", "chunk": "slice", "unbind": "slice"}


@dataclass(frozen=True, slots=True)
class Viewed:
    """The failing call, and what it was called on."""

    frame: int
    text: str
    """`shift_labels`, as the frame calls it."""
    call: str
    """`shift_labels.view(-1)`."""
    value: Value | None
    target: tuple[int, ...] | None
    """What shape was asked for, where that can be read."""


@dataclass(frozen=True, slots=True)
class Cause:
    """What made the tensor so: an operation at a place, the user's own or a library's."""

    how: str
    place: Place | None
    text: str
    node: ast.expr | None = None
    source: Source | None = None
    shape: tuple[int, ...] | None = None
    """Of what it was made from."""


def viewed_in(crash: Crash) -> Viewed | None:
    """The innermost frame's failing expression, if it is a view that cannot be."""
    frame = crash.frames[-1] if crash.frames else None
    node = expression(frame.expression) if frame and frame.expression else None
    match node:
        case ast.Call(func=ast.Attribute(value=receiver, attr="view"), args=args) if frame and args:
            text = ast.unparse(receiver)
            value = next((one for one in frame.values if one.text == text), None)
            target = shape_asked(args, frame)
            found = Viewed(len(crash.frames) - 1, text, ast.unparse(node), value, target)
            return found if cannot_be(found, crash) else None
    return None


def expression(text: str) -> ast.expr | None:
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError:
        return None


def shape_asked(args: list[ast.expr], frame: Frame) -> tuple[int, ...] | None:
    """The numbers of a call, from constants and from values of the frame."""
    parts = args[0].elts if isinstance(args[0], ast.Tuple | ast.List) else args
    numbers = [number(part, frame) for part in parts]
    known = [one for one in numbers if one is not None]
    return tuple(known) if len(known) == len(numbers) else None


def number(node: ast.expr, frame: Frame) -> int | None:
    match node:
        case ast.Constant(value=int(given)):
            return given
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(given))):
            return -given
    text = ast.unparse(node)
    found = next((one.scalar for one in frame.values if one.text == text), None)
    return found if type(found) is int else None


def cannot_be(viewed: Viewed, crash: Crash) -> bool:
    """By arithmetic; where shape or target are not known, by what Python said."""
    value = viewed.value
    if value is None or value.shape is None or value.stride is None:
        return SAYS_SO in crash.said
    if viewed.target is None:
        return value.contiguous is False and SAYS_SO in crash.said
    target = inferred(value.shape, viewed.target)
    return target is not None and not can_view(value.shape, value.stride, target)


def cause_of(viewed: Viewed, crash: Crash, seen: Recording) -> Cause | None:
    """By the source where that is certain, otherwise by a second run."""
    for source, node in places_named(viewed, crash, seen):
        made = strided_behind(source, node)
        if made is not None and explains(made, viewed.value):
            place = Place(source.file, made.lineno, made.end_lineno)
            text = " ".join(source.segment(made).split())
            shape = shape_before(made, viewed, crash)
            return Cause(how(made), place, text, made, source, shape)
    if viewed.value is None:
        return None
    return cause_told(story_of_value(seen, crash, viewed.frame, viewed.text), seen)


def shape_before(made: ast.expr, viewed: Viewed, crash: Crash) -> tuple[int, ...] | None:
    """Of what was sliced or turned, where a frame still has it under its name."""
    match made:
        case ast.Subscript(value=base) | ast.Attribute(value=base):
            pass
        case ast.Call(func=ast.Attribute(value=base)):
            pass
        case _:
            return None
    value = crash.value(ast.unparse(base))
    is_same = value and viewed.value and value.identity == viewed.value.identity
    return value.shape if value and not is_same else None


def places_named(
    viewed: Viewed, crash: Crash, seen: Recording
) -> Iterator[tuple[Source, ast.expr]]:
    """Where own code names the tensor, from the failing call outwards."""
    for at, frame in reversed(list(enumerate(crash.frames))):
        source = seen.source(frame.place) if frame.own else None
        if source is None:
            continue
        text = viewed.text if at == viewed.frame else name_in(frame, viewed.value)
        node = written(source, frame, text) if text else None
        if node is not None:
            yield source, node


def written(source: Source, frame: Frame, text: str) -> ast.expr | None:
    """The expression on the frame's line that reads so."""
    statement = source.statement_at(frame.place.line or 0)
    if statement is None:
        return None
    for node in ast.walk(statement):
        if isinstance(node, ast.expr) and ast.unparse(node) == text:
            return node
    return None


def cause_told(operations: list[Operation], seen: Recording) -> Cause | None:
    """The first operation of the story whose result is not contiguous and whose input is."""
    made = operations[0] if operations else None
    while made is not None and not made.contiguous:
        before = [one for one in taken(made, operations) if not one.contiguous]
        if not before:
            return cause_from(made, operations, seen)
        made = before[0]
    return None


def cause_from(made: Operation, operations: list[Operation], seen: Recording) -> Cause:
    came_from = next(iter(taken(made, operations)), None)
    shape = came_from.shape if came_from else None
    source = seen.source(made.place) if made.own else None
    node = node_of(source, made) if source else None
    kind = (how(node) if node else "") or OPERATIONS.get(made.name, f"result of `{made.name}`")
    if source is None or node is None:
        return Cause(kind, made.inside or made.place, made.name, shape=shape)
    place = Place(source.file, node.lineno, node.end_lineno)
    text = " ".join(source.segment(node).split())
    return Cause(kind, place, text, node, source, shape)


def node_of(source: Source, made: Operation) -> ast.expr | None:
    """The one expression on the operation's line that can be it."""
    line = made.place.line if made.place else None
    statement = source.statement_at(line) if line else None
    found = [
        node
        for node in (ast.walk(statement) if statement else ())
        if isinstance(node, ast.expr) and node.lineno == line and is_operation(node, made.name)
    ]
    return found[0] if len(found) == 1 else None


def is_operation(node: ast.expr, name: str) -> bool:
    if name == "__getitem__":
        return isinstance(node, ast.Subscript) and how(node) == "slice"
    if isinstance(node, ast.Attribute):
        return node.attr == name and isinstance(node.ctx, ast.Load) and how(node) != ""
    return isinstance(node, ast.Call) and (
        isinstance(node.func, ast.Attribute) and node.func.attr == name
    )
