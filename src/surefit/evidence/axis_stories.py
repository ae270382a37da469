"""Where the tensor of a crash lost or gained an axis: by its story, and by source before that."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import Crash, Operation, Script
from surefit.doctor.recording import Recording
from surefit.evidence.axes_taken import AxesMisfit, read_as_one_row
from surefit.evidence.row_makers import columns_of, row_makers
from surefit.evidence.value_stories import story_of_value, taken
from surefit.source.classes import set_on_self
from surefit.source.definitions import definition
from surefit.source.reading import Source, called

PICKS_A_ROW = ("__getitem__", "select", "unbind", "__iter__")
PARAMETER, GIVEN = "parameter", "given"
REDUCES = ("mean", "sum", "max", "min", "median", "std", "amax", "amin", "nanmean")
ADDS = ("unsqueeze", "expand_dims")
OF_ARRAYS = ("from_numpy", "tensor", "as_tensor", "asarray", "array", "FloatTensor", "Tensor")
KEEPS = ("astype", "float", "to", "copy", "contiguous", "clone", "ascontiguousarray", "half")
MOST_STEPS = 20


@dataclass(frozen=True, slots=True)
class Change:
    """A place where the number of axes changes, and how."""

    source: Source | None
    node: ast.expr | None
    place: Place
    name: str
    """Of the operation: `mean`, `squeeze`, `unsqueeze`, `__getitem__`."""
    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    """Shapes, where a second run saw them."""
    rows: int = 0
    """Axes that a loader has put in front since."""
    own: bool = True
    """The user's own line did it, not a library that it called."""

    @property
    def picks_a_row(self) -> bool:
        return self.name in PICKS_A_ROW and bool(self.after) and self.before[1:] == self.after

    @property
    def axis(self) -> int | None:
        """Which one went or came, as it is counted in the batch."""
        longer, shorter = sorted((self.before, self.after), key=len, reverse=True)
        for at in range(len(longer)):
            if (*longer[:at], *longer[at + 1 :]) == shorter:
                return at + self.rows
        given = 0 if self.node is not None and is_new_axis(self.node) else self.given_axis
        return None if given is None or given < 0 else given + self.rows

    @property
    def given_axis(self) -> int | None:
        """As the source writes it: 1 for `mean(axis=1)`."""
        call = self.node
        if isinstance(call, ast.Call):
            for one in (*(one.value for one in call.keywords if one.arg in AXES), *call.args):
                if isinstance(one, ast.Constant) and type(one.value) is int:
                    return one.value
        return None


AXES = ("axis", "dim")


@dataclass(frozen=True, slots=True)
class AxisStory:
    """Changes, the newest first, and what the data began with."""

    changes: tuple[Change, ...]
    began: Change | None
    """The line that made or read the data; its `rows` are axes that a loader put in front."""


def axis_story(story: list[Operation], seen: Recording) -> AxisStory:
    found: list[Change] = []
    rows, here = 0, story[0] if story else None
    while here is not None:
        before = operand(here, story)
        if before is None:
            began = at_operation(here, before, rows, seen)
            began = began if began and began.own else None
            changed = in_arrays(began) if began else ()
            return AxisStory((*found, *changed), began)
        if here.name == "stack" and len(taken(here, story)) + (not here.own) > 1:
            rows += 1
        elif rows and here.name in PICKS_A_ROW and before.shape[1:] == here.shape:
            rows -= 1
        elif len(before.shape) != len(here.shape):
            change = at_operation(here, before, rows, seen)
            found += [change] if change else []
        here = before
    return AxisStory(tuple(found), None)


def newest(story: AxisStory, lost: bool) -> Change | None:
    """The last operation of the user's that took an axis away, or added one, which nothing made
    good for afterwards; None where a library's call between them changed their number, too."""
    balance = 0
    for one in story.changes:
        if one.name in REDUCES and not one.before:
            delta = -1
        else:
            delta = len(one.after) - len(one.before) if one.before else 1
        delta = -delta if lost else delta
        if one.own and delta > 0 and balance == 0:
            return one
        else:
            balance -= delta
    return None


def lost_before_convolution(crash: Crash, seen: Recording) -> tuple[AxesMisfit, Change] | None:
    """A batch lost an axis, and a convolution read it as a single row, its rows as channels."""
    misfit = read_as_one_row(crash)
    if misfit is None:
        return None
    told = story_of_value(seen, crash, misfit.frame, misfit.given.text)
    change = newest(axis_story(told, seen), lost=True)
    if change is None or change.name not in (*REDUCES, "squeeze", "__getitem__"):
        return None
    return (misfit, change) if change.axis else None


def in_rows(seen: Recording, lost: bool) -> Change | None:
    """Where the function that makes a row changes its axes, by source: for rows of workers."""
    found: list[Change] = []
    for script in seen.all(Script):
        source = seen.source(script.file)
        for maker in row_makers(source) if source else ():
            columns = columns_of(source, maker.function).values() if source else ()
            for node in {one for value in columns for one in path_in(source, value)}:
                place = Place(script.file, node.lineno)
                change = Change(source, node, place, name_of(node), rows=1)
                if (change.name in REDUCES) is lost:
                    found.append(change)
    return found[0] if len(found) == 1 else None


def path_in(source: Source | None, value: ast.expr) -> list[ast.expr]:
    path = value_path(source, value) if source else ()
    return [one for one in path if changes(one) or is_new_axis(one)]


def is_new_axis(node: ast.expr) -> bool:
    """`x[None]`."""
    inside = node.slice if isinstance(node, ast.Subscript) else None
    return isinstance(inside, ast.Constant) and inside.value is None


def operand(operation: Operation, story: list[Operation]) -> Operation | None:
    """The first tensor that went in and is no parameter."""
    given = [one for one in taken(operation, story) if one.name != PARAMETER]
    return given[0] if given else None


def at_operation(
    operation: Operation, before: Operation | None, rows: int, seen: Recording
) -> Change | None:
    if operation.place is None:
        return None
    source = seen.source(operation.place)
    node = node_of(source, operation) if source else None
    place = Place(source.file, node.lineno) if source and node else operation.place
    shape = before.shape if before else ()
    own = operation.own or operation.name in OF_ARRAYS
    return Change(source, node, place, operation.name, shape, operation.shape, rows, own)


def node_of(source: Source, operation: Operation) -> ast.expr | None:
    """The one call or subscript of a line that an operation is."""
    place = operation.place
    if place is None or place.line is None or not (operation.own or operation.name in OF_ARRAYS):
        return None
    last = place.end_line or place.line
    if operation.name == "__getitem__":
        found: list[ast.expr] = [
            one for one in source.every(ast.Subscript) if place.line <= one.lineno <= last
        ]
        found = [one for one in found if isinstance(one, ast.Subscript) and changes_axes(one)]
    else:
        calls = source.calls_in(place.line, last)
        found = [one for one in calls if called(one) == operation.name]
    return found[0] if len(found) == 1 else None


def changes_axes(node: ast.Subscript) -> bool:
    inside = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return not all(isinstance(one, ast.Slice) for one in inside)


def in_arrays(began: Change) -> Iterator[Change]:
    """What was done to an array before it became a tensor, by source alone."""
    source, node, rows = began.source, began.node, began.rows
    if source is None or not isinstance(node, ast.Call) or not node.args:
        return
    for one in value_path(source, node.args[0]) if began.name in OF_ARRAYS else ():
        if changes(one):
            yield Change(source, one, Place(source.file, one.lineno), name_of(one), rows=rows)
        elif isinstance(one, ast.Subscript) and changes_axes(one):
            rows = max(0, rows - 1)  # one row of the array that it came from


def changes(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    kept = any(one.arg in ("keepdims", "keepdim") for one in node.keywords)
    axis = Change(None, node, Place(""), "").given_axis
    return called(node) in (*REDUCES, *ADDS) and not kept and axis is not None


def name_of(node: ast.expr) -> str:
    return called(node) if isinstance(node, ast.Call) else "__getitem__"


def value_path(source: Source, node: ast.expr) -> Iterator[ast.expr]:
    """Expressions that a value passes on its way, newest first, as far as they are certain."""
    here: ast.expr | None = node
    for _ in range(MOST_STEPS):
        if here is None:
            return
        yield here
        here = passed_on(source, here)


def passed_on(source: Source, node: ast.expr) -> ast.expr | None:
    match node:
        case ast.Name():
            return definition(source, node) or argument_given(source, node)
        case ast.Attribute():
            return set_on_self(source, node)
        case ast.Subscript(value=value):
            return value
        case ast.Call(func=ast.Attribute(value=value)) if not source.imported(node.func):
            return value if called(node) in (*KEEPS, *REDUCES, *ADDS) else None
        case ast.Call(args=[first, *_]) if called(node) in (*OF_ARRAYS, *KEEPS, *REDUCES, *ADDS):
            return first
    return None


def argument_given(source: Source, name: ast.Name) -> ast.expr | None:
    """What the only call of a function or class gives for one of its arguments."""
    bound = source.bound_by(name)
    function = source.scope_of(name)
    if len(bound) != 1 or not isinstance(bound[0], ast.arg):
        return None
    if not isinstance(function, ast.FunctionDef):
        return None
    owner = source.parents[function]
    is_init = isinstance(owner, ast.ClassDef) and function.name == "__init__"
    known_as = owner.name if isinstance(owner, ast.ClassDef) and is_init else function.name
    names = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    if name.id not in names:
        return None
    at = names.index(name.id) - isinstance(owner, ast.ClassDef)
    calls = [one for one in source.every(ast.Call) if called(one) == known_as]
    return source.argument(calls[0], name.id, at) if len(calls) == 1 else None


def receiver(source: Source, node: ast.expr) -> ast.expr | None:
    """What an operation is done to: `x` of `x.mean(1)`, of `torch.mean(x, 1)`, of `x[None]`."""
    if isinstance(node, ast.Subscript):
        return node.value
    if not isinstance(node, ast.Call):
        return None
    if isinstance(node.func, ast.Attribute) and not source.imported(node.func):
        return node.func.value
    return node.args[0] if node.args else None


def last_part(source: Source, node: ast.expr) -> str:
    """`.mean(axis=1)` of a long chain; the whole of everything else, on one line."""
    inside = receiver(source, node)
    whole = source.segment(node)
    before = source.segment(inside) if inside is not None else ""
    is_behind = before and whole.startswith(before)
    return " ".join((whole.removeprefix(before) if is_behind else whole).split())
