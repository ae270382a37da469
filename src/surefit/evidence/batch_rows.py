"""How many rows a batch has, and numbers in the source that stand for another count of them."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

from surefit.doctor.observations import Crash, Frame, Value
from surefit.doctor.recording import Recording
from surefit.evidence.hand_made_batches import loops_around
from surefit.evidence.loaders import LoaderSeen, ShortBatch, can_be_last, loaders_at_work
from surefit.laws.batches import is_method_of_module
from surefit.source.reading import Source

Leaf = ast.Constant | ast.Name | ast.Attribute | ast.Subscript


@dataclass(frozen=True, slots=True)
class Batches:
    """Where the batch that was being worked on comes from."""

    size: int
    """Rows of a whole batch."""
    loader: LoaderSeen | None = None
    seen: frozenset[int] = frozenset()
    """First sizes of what the loop over batches gave out, where that can be read."""

    def can_have(self, rows: int) -> bool:
        """Whether the batch can have had so many rows."""
        if self.seen and rows not in self.seen:
            return False
        if rows == self.size:
            return True
        if self.loader is not None:
            return can_be_last(self.loader, rows)
        return 0 < rows < self.size

    def said_of(self, rows: int) -> str:
        """`385 = 12 × 32 + 1`, or that whole batches have so many."""
        if rows == self.size:
            return f"each batch has {rows}"
        if self.loader is not None:
            return f"the last batch has {rows}: {ShortBatch(self.loader, rows).arithmetic}"
        return f"the last batch has {rows}, the others {self.size}"


def batches_of(crash: Crash, seen: Recording) -> Batches | None:
    """Of the loader that was at work; without one, of the loop that cuts the rows."""
    at_work = loaders_at_work(crash, seen)
    rows = frozenset(rows_given(crash, seen))
    if at_work:
        return Batches(at_work[0].size, at_work[0], rows)
    for frame in crash.frames:
        source = seen.source(frame.place) if frame.own else None
        for loop in loops_around(source, frame) if source else ():
            size = step_of(loop, frame)
            if size:
                return Batches(size, None, rows)
    return None


def rows_given(crash: Crash, seen: Recording) -> Iterator[int]:
    """First sizes of the tensors that a loop in the user's code gives a name to; without such a
    loop, of what the model was called with."""
    found: list[int] = []
    for frame in crash.frames:
        source = seen.source(frame.place) if frame.own else None
        names = (
            {name for loop in loops_around(source, frame) for name in targets(loop)}
            if source
            else set()
        )
        found += [
            shape[0] for value in frame.values if value.text in names for shape in shapes_in(value)
        ]
    inside = (frame for frame in crash.frames if frame.own and is_method_of_module(frame))
    called = next(inside, None)
    if not found and called is not None:
        given = [one for one in called.values if one.text in called.arguments]
        found = [shape[0] for value in given for shape in shapes_in(value)]
    yield from found


def targets(loop: ast.For) -> Iterator[str]:
    return (node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name))


def shapes_in(value: Value) -> list[tuple[int, ...]]:
    inside = [one.shape for one in value.members.values()]
    return [shape for shape in (value.shape, *inside) if shape]


def step_of(loop: ast.For, frame: Frame) -> int | None:
    """`range(0, n, 32)`, `rows.split(32)`."""
    for node in ast.walk(loop.iter):
        match node:
            case ast.Call(func=ast.Name(id="range"), args=[_, _, step]):
                return evaluated(step, frame)
            case ast.Call(func=ast.Attribute(attr="split"), args=[size]):
                return evaluated(size, frame)
    return None


def evaluated(
    node: ast.expr, frame: Frame, instead: Mapping[ast.expr, int] | None = None
) -> int | None:
    """A whole number, from constants and values of the frame; with other numbers for some nodes."""
    if instead and node in instead:
        return instead[node]
    match node:
        case ast.Constant(value=int(number)) if number is not True and number is not False:
            return number
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            value = evaluated(inner, frame, instead)
            return None if value is None else -value
        case ast.BinOp(left=left, op=operator, right=right):
            one, two = evaluated(left, frame, instead), evaluated(right, frame, instead)
            return None if one is None or two is None else computed(operator, one, two)
        case ast.Call(func=ast.Name(id="len"), args=[inner]):
            return size_of(inner, 0, frame)
        case ast.Call(func=ast.Attribute(value=inner, attr="size"), args=[axis]):
            return size_of(inner, evaluated(axis, frame), frame)
        case ast.Subscript(value=ast.Attribute(value=inner, attr="shape"), slice=axis):
            return size_of(inner, evaluated(axis, frame), frame)
    text = ast.unparse(node)
    found = next((one.scalar for one in frame.values if one.text == text), None)
    if found is None and isinstance(node, ast.Attribute) and frame.layer and frame.arguments:
        owner = frame.arguments[0]
        found = frame.layer.sizes.get(node.attr) if ast.unparse(node.value) == owner else None
    return found if type(found) is int else None


def computed(operator: ast.operator, one: int, two: int) -> int | None:
    match operator:
        case ast.Mult():
            return one * two
        case ast.Add():
            return one + two
        case ast.Sub():
            return one - two
        case ast.FloorDiv() if two:
            return one // two
    return None


def size_of(node: ast.expr, axis: int | None, frame: Frame) -> int | None:
    text = ast.unparse(node)
    shape = next((one.shape for one in frame.values if one.text == text), None)
    if shape is None or axis is None or not -len(shape) <= axis < len(shape):
        return None
    return shape[axis]


def leaves(node: ast.AST) -> Iterator[Leaf]:
    """Numbers and names in an expression, the sizes of tensors left out."""
    match node:
        case ast.Call(func=ast.Name(id="len")) | ast.Call(func=ast.Attribute(attr="size")):
            return
        case ast.Subscript(value=ast.Attribute(attr="shape")):
            return
        case ast.Constant() | ast.Name() | ast.Attribute() | ast.Subscript():
            yield node
            return
    for child in ast.iter_child_nodes(node):
        yield from leaves(child)


def fits(target: list[int], count: int) -> bool:
    """Whether so many elements can have this shape, of which one size can be -1."""
    known = prod(size for size in target if size != -1)
    if target.count(-1) == 1:
        return known > 0 and count % known == 0
    return -1 not in target and known == count


def with_rows(frame: Frame, rows: int, but: str = "") -> str | None:
    """How the frame can say so many rows: `x.size(0)`; arguments and first axes before others."""
    tensors = [one for one in frame.values if one.shape and rows in one.shape and one.text != but]
    named = [one for one in tensors if is_plain(one)]
    ordered = sorted(named, key=lambda one: ((one.shape or ()).index(rows), order(one, frame)))
    if not ordered:
        return None
    return f"{ordered[0].text}.size({(ordered[0].shape or ()).index(rows)})"


def order(value: Value, frame: Frame) -> int:
    return (
        frame.arguments.index(value.text) if value.text in frame.arguments else len(value.text) + 50
    )


def is_plain(value: Value) -> bool:
    """A name, or an item of a batch: what can be asked for its size in one more word."""
    return value.kind == "Tensor" and "(" not in value.text and ":" not in value.text


def node_at(source: Source, frame: Frame) -> ast.expr | None:
    return source.expression_at(frame.span) if frame.span else None


def is_written_down(source: Source, node: ast.expr) -> bool:
    """`32`, `BATCH`, `args.batch_size`: a number that is not asked of a tensor."""
    if isinstance(node, ast.Constant):
        return type(node.value) is int
    if isinstance(node, ast.Name):
        texts = [ast.unparse(one) for one in source.bound_by(node) if isinstance(one, ast.Assign)]
        return not any(word in text for text in texts for word in (".shape", ".size(", "len("))
    return isinstance(node, ast.Attribute | ast.Subscript) and ".shape" not in ast.unparse(node)


def constant(source: Source, node: ast.expr) -> int | None:
    """The number behind a name that is bound to one just once."""
    value = source.value_of(node)
    number = value.value if isinstance(value, ast.Constant) else None
    return number if type(number) is int else None
