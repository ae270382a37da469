"""Batches that a loop cuts by itself, `range(0, n, 32)`, `rows.split(32)`, and its last one."""

import ast
from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import Frame
from surefit.laws.case import Case
from surefit.laws.rows.batches import loops
from surefit.laws.values.frame_numbers import integer_in, size_in
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


def one_row_left(case: Case) -> CutBatches | None:
    """By the numbers of the loop that the failing call stands in."""
    for frame, loop in loops(case):
        source = case.source(frame.place)
        cut = by_range(source, loop, frame) or by_split(source, loop, frame)
        if cut is not None and cut.total % cut.size == 1 and cut.size > 1:
            return cut
    return None


def by_range(source: Source | None, loop: ast.For, frame: Frame) -> CutBatches | None:
    """`for i in range(0, n, 32)`: at the last `i` just one row is left."""
    match loop:
        case ast.For(
            target=ast.Name(id=name),
            iter=ast.Call(func=ast.Name(id="range"), args=[_, stop, step]) as call,
        ) if source:
            at, size = integer_in(frame, ast.Name(name)), integer_in(frame, step)
            loose = isinstance(stop, ast.BinOp | ast.IfExp | ast.BoolOp)
            if at is None or not size or at % size or loose:
                return None
            place = Place(source.file, loop.lineno)
            text = source.segment(stop)
            shown = source.segment(call).replace(text, f"{text} - 1", 1)
            return CutBatches(place, at + 1, size, shown, appended(source, stop, " - 1"))
    return None


def by_split(source: Source | None, loop: ast.For, frame: Frame) -> CutBatches | None:
    """`for rows in everything.split(32)`, also several of them side by side."""
    calls = [node for node in ast.walk(loop.iter) if is_split(node)]
    if source is None or not calls:
        return None
    cut: CutBatches | None = None
    for call in calls:
        match call:
            case ast.Call(func=ast.Attribute(value=receiver), args=[size]):
                rows, whole = length(source, receiver, frame), integer_in(frame, size)
                if rows is None or not whole:
                    return None
                count, text = rows
                whole_rows = f"[: {text} // {source.segment(size)} * {source.segment(size)}]"
                edit = appended(source, receiver, whole_rows)
                edit = both(cut.edit, edit) if cut else edit
                shown = f"{source.segment(receiver)}{whole_rows}.split({source.segment(size)})"
                place = Place(source.file, loop.lineno)
                cut = CutBatches(place, count, whole, cut.text if cut else shown, edit)
    return cut


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
        rows = size_in(frame, node, 0)
        return (rows, f"len({text})") if rows else None
    match node:
        case ast.Call(func=func, args=[count]) if dotted(func).endswith("randperm"):
            rows = integer_in(frame, count)
            return (rows, source.segment(count)) if rows else None
    return None
