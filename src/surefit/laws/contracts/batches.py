"""A loader has rows and gives batches, and results of a batch fit where they are written."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from surefit.doctor.findings import Place
from surefit.doctor.observations import Frame
from surefit.doctor.violations import Expression, Operand, Violation
from surefit.doctor.words import code
from surefit.laws.case import Case, use_of
from surefit.laws.rows.loaders import loader_call
from surefit.laws.values.frame_numbers import integer_in
from surefit.source.reading import Source, called

SAMPLER = "torch/utils/data/sampler.py"
LOADER = "DataLoader"
COUNTED = ("list", "tuple", "Dataset", "DataFrame")
"""Kinds whose length is that of their rows."""
FILLS = ("append", "extend", "add", "update")
KEEPS_ROWS = (
    *("cpu", "numpy", "detach", "float", "long", "argmax", "softmax", "sigmoid", "tolist", "to"),
    *("squeeze", "log_softmax", "half", "double", "int", "bool", "clone", "contiguous"),
)
"""Methods of a tensor whose result has as many rows."""
LIBRARIES = ("torch", "np", "numpy", "F")


@dataclass(frozen=True, slots=True)
class EmptyLoader:
    """A loader that ended without a single batch."""

    size: int | None
    made: str | None = None
    line: int | None = None
    rows: int | None = None
    drops: bool = False
    streams: bool = False

    @property
    def place(self) -> Place | None:
        """Where it was created."""
        return Place(self.made, self.line) if self.made else None


@dataclass(frozen=True, slots=True)
class EmptyLoaders:
    """What the crashed process says: the loader that was asked last, if it is one."""

    probe: ClassVar[str] = "empty-loaders"

    loaders: tuple[EmptyLoader, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NoRows(Violation):
    """A loader is created from, or iterates, a dataset without rows."""

    rows: Operand
    """The dataset, or the loader."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoBatches(Violation):
    """A loop over a loader never ran, because the loader drops its only batch."""

    loader: EmptyLoader
    call: Expression
    """That created the loader."""
    loop: ast.For
    needed: str
    """What only the loop gives a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenRows(Violation):
    """A part of an array was given another number of rows than it has."""

    array: Operand
    target: ast.Subscript
    rows: int
    room: int
    batches: bool
    """One number chooses the part: the array has an axis for the batches."""


def violations_of(case: Case) -> Iterator[Violation]:
    own, source = case.own, case.source(case.own)
    if own is None or source is None:
        return
    yield from refused(case, own)
    yield from never_ran(case, source, own)
    if own is case.frames[-1]:
        yield from written(case, source, own)


def refused(case: Case, own: Frame) -> Iterator[NoRows]:
    """The sampler of a loader was created for no rows."""
    last = case.frames[-1]
    if not last.place.file.endswith(SAMPLER) or not last.function.endswith("__init__"):
        return
    number, rows = last.value("num_samples"), last.value("data_source")
    if rows is None or (number is not None and number.scalar not in (None, 0)):
        return
    if not (rows.kind in COUNTED and rows.length):
        operand = Operand(value=rows, name="the dataset", frame=len(case.frames) - 1)
        yield NoRows(use=use_of(own), rows=operand)


def never_ran(case: Case, source: Source, own: Frame) -> Iterator[NoRows | NoBatches]:
    """The failing line reads what only a loop over an empty loader fills, or counts it."""
    statement = source.statement_at(own.place.line or 0)
    for loop in loops_before(source, statement) if statement is not None else ():
        needed = needed_of(loop, statement)
        said = case.ask(EmptyLoaders) if needed else None
        loader = said.loaders[0] if said is not None and said.loaders else None
        if loader is None or loader.streams:
            continue
        call, value = call_of(case, loader), loader_in(case, loader)
        if loader.rows == 0 and value is not None:
            yield NoRows(use=use_of(own), rows=value)
        elif loader.drops and call is not None:
            yield NoBatches(use=use_of(own), loader=loader, call=call, loop=loop, needed=needed)
        return


def call_of(case: Case, loader: EmptyLoader) -> Expression | None:
    source, place = case.source(loader.place), loader.place
    call = loader_call(source, place) if source is not None and place is not None else None
    return case.expression(source, call) if source is not None and call is not None else None


def loader_in(case: Case, loader: EmptyLoader) -> Operand | None:
    """The loader under a name of the user's."""
    for number, frame in enumerate(case.frames):
        for value in frame.values if frame.own else ():
            place = value.made_at
            here = place is not None and (place.file, place.line) == (loader.made, loader.line)
            if value.kind == LOADER and here:
                return Operand(value=value, name=code(value.text), frame=number)
    return None


def loops_before(source: Source, statement: ast.stmt) -> list[ast.For]:
    """In the same function, above a statement, the nearest first."""
    scope = source.scope_of(statement)
    loops = [
        loop
        for loop in source.every(ast.For)
        if source.scope_of(loop) is scope and (loop.end_lineno or 0) < statement.lineno
    ]
    return sorted(loops, key=lambda loop: -loop.lineno)


def needed_of(loop: ast.For, statement: ast.stmt | None) -> str:
    """A name of the failing line that the loop gives a value, or `len` of what it iterates."""
    filled = set(names_filled(loop))
    iterated = {ast.unparse(node) for node in ast.walk(loop.iter) if isinstance(node, ast.expr)}
    for node in (inner for part in heads(statement) for inner in ast.walk(part)):
        if isinstance(node, ast.Name) and node.id in filled:
            return node.id
        if isinstance(node, ast.Call) and called(node) == "len" and node.args:
            text = ast.unparse(node.args[0])
            if text in iterated:
                return f"len({text})"
    return ""


def heads(statement: ast.stmt | None) -> list[ast.AST]:
    """What of a statement runs first: all of a plain one, the test of a compound one."""
    if isinstance(statement, ast.If | ast.While):
        return [statement.test]
    if isinstance(statement, ast.With):
        return [item.context_expr for item in statement.items]
    return [] if statement is None or hasattr(statement, "body") else [statement]


def names_filled(loop: ast.For) -> Iterator[str]:
    """Names that the loop binds, adds to, or puts something into."""
    for node in (inner for part in (loop.target, *loop.body) for inner in ast.walk(part)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)) if attr in FILLS:
                yield name


def written(case: Case, source: Source, own: Frame) -> Iterator[WrittenRows]:
    match source.statement_at(own.place.line or 0):
        case ast.Assign(targets=[ast.Subscript() as target], value=value):
            array, rows = own.value(ast.unparse(target.value)), rows_of(own, value)
        case _:
            return
    room = room_in(own, target, array.shape) if array is not None and array.shape else None
    if array is None or rows is None or room is None or room[0] == rows:
        return
    operand = Operand(value=array, name=code(array.text), frame=case.number)
    yield WrittenRows(
        use=use_of(own), array=operand, target=target, rows=rows, room=room[0], batches=room[1]
    )


def rows_of(frame: Frame, node: ast.expr) -> int | None:
    """Of what is written: by its name, through methods that keep rows."""
    value = frame.value(ast.unparse(node))
    if value is not None and value.shape:
        return value.shape[0]
    match node:
        case ast.Call(func=ast.Attribute(value=owner, attr=name), args=args) if name in KEEPS_ROWS:
            is_function = ast.unparse(owner) in LIBRARIES
            return rows_of(frame, args[0] if is_function and args else owner)
    return None


def room_in(frame: Frame, target: ast.Subscript, shape: tuple[int, ...]) -> tuple[int, bool] | None:
    """Rows of the part, and whether one number chooses it."""
    first = target.slice.elts[0] if isinstance(target.slice, ast.Tuple) else target.slice
    if not isinstance(first, ast.Slice):
        chosen = integer_in(frame, first) is not None and len(shape) > 1
        return (shape[1], True) if chosen else None
    lower = integer_in(frame, first.lower) if first.lower is not None else 0
    upper = integer_in(frame, first.upper) if first.upper is not None else shape[0]
    if lower is None or upper is None or first.step is not None:
        return None
    return len(range(*slice(lower, upper).indices(shape[0]))), False
