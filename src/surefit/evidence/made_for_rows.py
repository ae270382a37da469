"""A tensor that was made with a number of rows of its own, and a batch that has others."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import Crash, Frame, Operation, Value
from surefit.doctor.recording import Recording
from surefit.evidence.batch_rows import (
    Batches,
    batches_of,
    constant,
    evaluated,
    is_written_down,
    leaves,
    with_rows,
)
from surefit.evidence.frame_names import named
from surefit.evidence.origins import names_in
from surefit.evidence.value_stories import story_of_value
from surefit.source.definitions import definition
from surefit.source.reading import Source, called

MAKES = (
    "zeros",
    "ones",
    "full",
    "empty",
    "rand",
    "randn",
    "randint",
    "arange",
    "eye",
    "new_zeros",
    "new_ones",
    "new_full",
)
COUNTING = (*MAKES, "view", "reshape", "expand", "repeat")
CUTS = ("[: {}]", "[:, : {}].contiguous()")
"""By the axis of the rows."""
SPREADS = ("expand", "repeat")
"""Make many rows of one, with a number as well."""
PASSES = ("to", "cuda", "float", "long", "bool", "unsqueeze", "squeeze", "requires_grad_")
"""Operations after which it still has the rows that it was made with."""


@dataclass(frozen=True, slots=True)
class MadeForRows:
    """Where it was made, and how the rows of this batch can be said there."""

    source: Source
    call: ast.Call
    leaf: ast.expr
    number: int
    rows: int
    place: Place
    batches: Batches
    frame: Frame
    text: str
    shape: tuple[int, ...]
    other: str
    other_shape: tuple[int, ...]
    value: str | None
    cut: str
    """Where the rows are not known when it is made: how it can be cut where it is used."""
    used: ast.expr | None


@dataclass(frozen=True, slots=True)
class Pair:
    """Two tensors that a failing call takes together; they differ in the size of one axis."""

    frame: int
    made: Value
    given: Value
    axis: int


def made_for_other_rows(crash: Crash, seen: Recording) -> MadeForRows | None:
    own = crash.own_frame
    if own is None:
        return None
    for pair in pairs(crash):
        batches = batches_of(crash, seen)
        rows = (pair.given.shape or ())[pair.axis]
        if batches is None or not batches.can_have(rows):
            continue
        story = story_of_value(seen, crash, pair.frame, pair.made.text)
        origin = made_by(story)
        found = explained(crash, own, pair, origin, batches, seen) if origin else None
        if found is not None:
            return found
    return None


def pairs(crash: Crash) -> Iterator[Pair]:
    """In the innermost frame: what a loss was given, a state and its expected size, or tensors of
    the user's own failing expression."""
    frame = crash.frames[-1] if crash.frames else None
    if frame is None:
        return
    number = len(crash.frames) - 1
    values = {value.text: value for value in frame.values}
    if "target" in frame.arguments and "input" in frame.arguments:
        tensors = [values[name] for name in ("target", "input") if name in values]
    elif "expected_hidden_size" in frame.arguments:
        tensors = [values["hx"]] if "hx" in values else []
        tensors += expected(values.get("expected_hidden_size"))
    elif frame.own:
        tensors = [one for one in frame.values if one.text in names_in(frame.expression or "")]
    else:
        tensors = []
    for made in tensors:
        for given in tensors:
            axis = differing(made.shape, given.shape, is_joined(frame))
            if axis is not None and made.kind != "Parameter":
                yield Pair(number, made, given, axis)


def expected(value: Value | None) -> list[Value]:
    """The size that a recurrent layer computed from its input, as a shape."""
    sizes = [one.scalar for one in value.members.values()] if value else []
    shape = tuple(size for size in sizes if type(size) is int)
    return [Value("its input", "Tensor", shape=shape)] if shape else []


def is_joined(frame: Frame) -> bool:
    """Features are put side by side: the sizes of the joined axis differ by right."""
    try:
        node = ast.parse(frame.expression or "", mode="eval").body
    except SyntaxError:
        return False
    if not isinstance(node, ast.Call) or called(node) not in ("cat", "concat", "concatenate"):
        return False
    axis = next((one.value for one in node.keywords if one.arg in ("dim", "axis")), None)
    axis = axis or (node.args[1] if len(node.args) > 1 else None)
    return axis is not None and ast.unparse(axis) != "0"


def differing(
    one: tuple[int, ...] | None, two: tuple[int, ...] | None, joined: bool = False
) -> int | None:
    """The only axis on which two shapes differ; ones broadcast and do not count. Of tensors that
    are joined along another axis, the first."""
    if not one or not two or len(one) != len(two):
        return None
    if joined:
        return 0 if one[0] != two[0] else None
    axes = [
        axis for axis, (a, b) in enumerate(zip(one, two, strict=True)) if a != b and 1 not in (a, b)
    ]
    uneven = [axis for axis, (a, b) in enumerate(zip(one, two, strict=True)) if a != b]
    if len(axes) == 1:
        return axes[0]
    return uneven[0] if len(uneven) == 1 and not axes else None


def made_by(story: list[Operation]) -> Operation | None:
    """The operation of the user's own that made it of numbers alone."""
    known = {one.serial: one for one in story}
    here = story[0] if story else None
    while here is not None:
        if here.name in MAKES:
            return here if here.place is not None and here.own else None
        before = next((known[serial] for serial in here.takes if serial in known), None)
        if here.name in SPREADS and before is not None and before.shape[:1] == (1,):
            return here if here.place is not None and here.own else None
        if here.name not in PASSES:
            return None
        here = next((known[serial] for serial in here.takes if serial in known), None)
    return None


def explained(
    crash: Crash, own: Frame, pair: Pair, origin: Operation, batches: Batches, seen: Recording
) -> MadeForRows | None:
    source = seen.source(origin.place)
    line = origin.place.line if origin.place else None
    if source is None or line is None:
        return None
    made, given = pair.made.shape or (), pair.given.shape or ()
    number, rows = made[pair.axis], given[pair.axis]
    calls = [one for one in source.calls_in(line) if called(one) == origin.name]
    is_one = len({ast.unparse(one) for one in calls}) == 1
    leaf = size_node(source, calls[0], origin.shape, number, pair.axis) if is_one else None
    if leaf is None or not is_written_down(source, leaf):
        return None
    leaf = handed_over(crash, source, leaf)
    frame = frame_of(crash, source, leaf.lineno) or own
    here = is_bound_before(source, frame, leaf, rows)
    value = with_rows(frame, rows) if here else with_rows(own, rows, pair.made.text)
    statement = source.statement_at(own.place.line or 0)
    name = name_of(own, pair.made)
    used = node_named(statement, name) if statement and own.place.file == source.file else None
    cut = not here and used is not None and pair.axis < len(CUTS)
    return MadeForRows(
        source,
        calls[0],
        leaf,
        number,
        rows,
        Place(source.file, leaf.lineno),
        batches,
        own,
        name or pair.made.text,
        made,
        *other_side(own, pair),
        value if here or cut else None,
        CUTS[pair.axis] if cut else "",
        used,
    )


def size_node(
    source: Source, call: ast.Call, shape: tuple[int, ...], number: int, axis: int
) -> ast.expr | None:
    """The part of a call that says how many rows: by its place among the sizes."""
    nodes = named_sizes(source, call) or sizes_of(call)
    at = axis if axis < len(shape) and shape[axis] == number else None
    if at is None:
        at = shape.index(number) if number in shape else None
    node = nodes[at] if at is not None and at < len(nodes) else None
    return (
        node if isinstance(node, ast.Constant | ast.Name | ast.Attribute | ast.Subscript) else None
    )


def named_sizes(source: Source, call: ast.Call) -> list[ast.expr]:
    """`torch.zeros(*shape)`, `torch.zeros(shape)`: the sizes where `shape` is written."""
    first = call.args[0] if call.args else None
    name = first.value if isinstance(first, ast.Starred) else first
    made = definition(source, name) if isinstance(name, ast.Name) else None
    return list(made.elts) if isinstance(made, ast.Tuple | ast.List) else []


def sizes_of(call: ast.Call) -> list[ast.expr]:
    """The sizes that a call makes a tensor with."""
    lists = [one for one in call.args if isinstance(one, ast.Tuple | ast.List)]
    lists += [one.value for one in call.keywords if isinstance(one.value, ast.Tuple | ast.List)]
    nodes = lists[0].elts if lists else list(call.args)
    if called(call) in ("arange", "eye"):
        return nodes[:1] if len(nodes) == 1 else []
    return nodes


def handed_over(crash: Crash, source: Source, leaf: ast.expr) -> ast.expr:
    """Where the number is an argument of a function that has ended: what its one caller gave."""
    if not isinstance(leaf, ast.Name) or frame_of(crash, source, leaf.lineno):
        return leaf
    scope = source.scope_of(leaf)
    if not isinstance(scope, ast.FunctionDef):
        return leaf
    names = [one.arg for one in scope.args.args]
    calls = [one for one in source.every(ast.Call) if called(one) == scope.name]
    if leaf.id not in names or len(calls) != 1:
        return leaf
    at = names.index(leaf.id) - (1 if names[0] in ("self", "cls") else 0)
    given = source.argument(calls[0], leaf.id, at)
    return given if given is not None and is_written_down(source, given) else leaf


def other_side(own: Frame, pair: Pair) -> tuple[str, tuple[int, ...]]:
    """A tensor of the user's line that has the rows of the batch."""
    rows = (pair.given.shape or ())[pair.axis]
    same = name_of(own, pair.given)
    if same:
        return same, pair.given.shape or ()
    texts = names_in(own.expression or own.line)
    tensors = [one for one in own.values if one.text in texts and one.shape and rows in one.shape]
    tensors += [one for one in own.values if one.shape and rows in one.shape]
    return (tensors[0].text, tensors[0].shape or ()) if tensors else ("", ())


def name_of(frame: Frame, value: Value) -> str:
    same = [text for text, one in named(frame) if one.identity == value.identity and one.identity]
    return same[0] if same else ""


def frame_of(crash: Crash, source: Source, line: int) -> Frame | None:
    """The frame of the function in which a line stands, if it was still running."""
    statement = source.statement_at(line)
    scope = source.scope_of(statement) if statement else None
    for frame in reversed(crash.frames):
        here = (
            source.statement_at(frame.place.line or 0) if frame.place.file == source.file else None
        )
        if here is not None and source.scope_of(here) is scope:
            return frame
    return None


def is_bound_before(source: Source, frame: Frame, leaf: ast.expr, rows: int) -> bool:
    """The tensor that has the rows is there already when the line with the number is run."""
    text = with_rows(frame, rows)
    root = text.partition(".")[0].partition("[")[0] if text else ""
    scope = source.scope_of(leaf)
    here = source.statement_at(frame.place.line or 0)
    if not root or here is None or source.scope_of(here) is not scope:
        return False
    if root == "self":
        return False
    bound = source.bound_by(ast.copy_location(ast.Name(root, ast.Load()), leaf)) or bound_in(
        source, scope, root
    )
    return any(comes_before(source, one, leaf) for one in bound)


def bound_in(source: Source, scope: ast.AST, name: str) -> list[ast.AST]:
    return source.bindings.get(scope, {}).get(name, [])


def comes_before(source: Source, binder: ast.AST, leaf: ast.expr) -> bool:
    """An argument, the head of a loop around the line, or an earlier statement."""
    if isinstance(binder, ast.arg):
        return True
    if isinstance(binder, ast.For):
        return binder in source.up(leaf)
    return isinstance(binder, ast.stmt) and binder.lineno < leaf.lineno


def made_in_line(source: Source, frame: Frame, batches: Batches) -> tuple[ast.expr, int] | None:
    """A size in a call that makes a tensor inside the failing expression: it is that of a whole
    batch, and another tensor there has the rows of this one."""
    node = source.expression_at(frame.span) if frame.span else None
    named_here = names_in(frame.expression or "")
    shapes = [one.shape for one in frame.values if one.text in named_here and one.shape]
    rows = [shape[0] for shape in shapes if batches.can_have(shape[0])]
    if node is None or not rows or rows[0] == batches.size:
        return None
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and called(call) in MAKES:
            for size in sizes_of(call):
                number = evaluated(size, frame) or constant(source, size)
                if number == batches.size and is_written_down(source, size):
                    return size, rows[0]
    return None


def alike(source: Source, leaf: ast.expr) -> list[ast.expr]:
    """The same number in other calls of the function that make or reshape tensors: two states are
    made side by side. A bare number stands for rows only in a call that is written alike."""
    call = next((one for one in source.up(leaf) if isinstance(one, ast.Call)), None)
    scope, text = source.scope_of(leaf), ast.unparse(leaf)
    found: list[ast.expr] = [leaf]
    for other in ast.walk(scope):
        if not isinstance(other, ast.Call) or other is call or called(other) not in COUNTING:
            continue
        if isinstance(leaf, ast.Constant) and (
            call is None or ast.unparse(other) != ast.unparse(call)
        ):
            continue
        inside = [node for one in other.args for node in leaves(one)]
        found += [node for node in inside if ast.unparse(node) == text]
    return found


def node_named(statement: ast.AST, text: str) -> ast.expr | None:
    nodes = [
        node
        for node in ast.walk(statement)
        if isinstance(node, ast.expr) and text and ast.unparse(node) == text
    ]
    return nodes[0] if nodes else None
