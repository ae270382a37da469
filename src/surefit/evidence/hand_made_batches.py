"""Batches that a loop cuts out by itself: `range(0, n, 32)`, `rows.split(32)`."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import Crash, Frame
from surefit.doctor.recording import Recording
from surefit.source.edits import appended
from surefit.source.patches import Edit, both
from surefit.source.reading import Source, dotted


@dataclass(frozen=True, slots=True)
class CutBatches:
    """A loop over batches, in the round in which one row was left."""

    place: Place
    total: int
    size: int
    text: str
    """The new head of the loop, or the part of it that changes."""
    edit: Edit


def one_row_left(crash: Crash, seen: Recording) -> CutBatches | None:
    """By the numbers of the loop that the failing call stands in."""
    for frame in crash.frames:
        source = seen.source(frame.place) if frame.own else None
        for loop in loops_around(source, frame) if source else ():
            found = by_range(source, loop, frame) or by_split(source, loop, frame)
            if found is not None and found.total % found.size == 1 and found.size > 1:
                return found
    return None


def loops_around(source: Source, frame: Frame) -> Iterator[ast.For]:
    statement = source.statement_at(frame.place.line or 0)
    for outer in source.up(statement) if statement else ():
        if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef):
            return
        if isinstance(outer, ast.For):
            yield outer


def by_range(source: Source | None, loop: ast.For, frame: Frame) -> CutBatches | None:
    """`for i in range(0, n, 32)`: at the last `i` just one row is left."""
    match loop:
        case ast.For(
            target=ast.Name(id=name),
            iter=ast.Call(func=ast.Name(id="range"), args=[_, stop, step]) as call,
        ) if source:
            at, size = number(frame, ast.Name(name)), number(frame, step)
            if at is None or not size or at % size:
                return None
            place = Place(source.file, loop.lineno)
            text = f"{source.segment(stop)} - 1"
            edit = appended(source, stop, " - 1")
            if isinstance(stop, ast.BinOp | ast.IfExp | ast.BoolOp):
                return None
            shown = source.segment(call).replace(source.segment(stop), text, 1)
            return CutBatches(place, at + 1, size, shown, edit)
    return None


def by_split(source: Source | None, loop: ast.For, frame: Frame) -> CutBatches | None:
    """`for rows in everything.split(32)`, also several of them side by side."""
    calls = [node for node in ast.walk(loop.iter) if is_split(node)]
    if source is None or not calls:
        return None
    found: CutBatches | None = None
    for call in calls:
        match call:
            case ast.Call(func=ast.Attribute(value=receiver), args=[size]):
                rows, whole = length(source, receiver, frame), number(frame, size)
                if rows is None or not whole:
                    return None
                count, text = rows
                cut = f"[: {text} // {source.segment(size)} * {source.segment(size)}]"
                edit = appended(source, receiver, cut)
                edit = both(found.edit, edit) if found else edit
                shown = f"{source.segment(receiver)}{cut}.split({source.segment(size)})"
                place = Place(source.file, loop.lineno)
                found = CutBatches(place, count, whole, found.text if found else shown, edit)
    return found


def is_split(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "split"
        and len(node.args) == 1
        and not node.keywords
    )


def length(source: Source, node: ast.expr, frame: Frame) -> tuple[int, str] | None:
    """How many rows it has, and how the source can say so."""
    if dotted(node):
        text = ast.unparse(node)
        shape = next((one.shape for one in frame.values if one.text == text), None)
        return (shape[0], f"len({text})") if shape else None
    match node:
        case ast.Call(func=func, args=[count]) if dotted(func).endswith("randperm"):
            rows = number(frame, count) or length_in(count, frame)
            return (rows, source.segment(count)) if rows else None
    return None


def length_in(node: ast.expr, frame: Frame) -> int | None:
    """Of `len(x)` and `x.size(0)`."""
    match node:
        case ast.Call(func=ast.Name(id="len"), args=[inner]):
            pass
        case ast.Call(func=ast.Attribute(value=inner, attr="size"), args=[ast.Constant(value=0)]):
            pass
        case _:
            return None
    text = ast.unparse(inner)
    found = next((one for one in frame.values if one.text == text), None)
    if found is None:
        return None
    return found.shape[0] if found.shape else found.length


def number(frame: Frame, node: ast.expr) -> int | None:
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    text = ast.unparse(node)
    found = next((one.scalar for one in frame.values if one.text == text), None)
    return found if type(found) is int else None
