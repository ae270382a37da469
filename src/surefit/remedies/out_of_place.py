"""Statements that write into a tensor, and the same with a new tensor."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce

from surefit.doctor.findings import Place
from surefit.doctor.observations import Script
from surefit.doctor.recording import Recording
from surefit.laws.graph_stories import Write
from surefit.source.edits import appended, argument_added, both, inserted_before, replaced
from surefit.source.in_place import chain, is_writing_method, root_of
from surefit.source.line_edits import shares_lines
from surefit.source.patches import Edit
from surefit.source.reading import Source, called

SIGNS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}
SIMPLE = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Constant)


@dataclass(frozen=True, slots=True)
class Writing:
    """What writes, as it stands in the source, and what creates a new tensor."""

    place: Place
    text: str
    instead: str
    edit: Edit | None
    by_layer: bool = False
    """A layer does it, wherever it is called."""
    before: bool = False
    """The new tensor is created by a statement before it."""


def writing_of(recording: Recording, change: Write) -> Writing | None:
    line = change.stack[-1] if change.stack else None
    source = recording.source(line.file) if line else None
    statement = source.statement_at(line.line) if source and line else None
    if source is None or statement is None:
        return None
    return (
        by_statement(source, statement)
        or by_method(source, statement, change)
        or by_argument(source, statement)
        or by_layer(recording, change)
    )


def by_statement(source: Source, node: ast.stmt) -> Writing | None:
    """`h += x`, `h[mask] = 0`."""
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name | ast.Attribute):
        name, value = source.segment(node.target), source.segment(node.value)
        sign = SIGNS.get(type(node.op))
        if sign is None:
            return None
        if not isinstance(node.value, SIMPLE) and not (sign in "+-" and is_product(node.value)):
            value = f"({value})"
        text = f"{name} = {name} {sign} {value}"
        edit = replaced(source, node, text)
        return Writing(place(source, node), source.segment(node), text, edit)
    target: ast.expr | None = node.target if isinstance(node, ast.AugAssign) else None
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target = node.targets[0]
    if not isinstance(target, ast.Subscript) or shares_lines(source, node):
        return None
    if not isinstance(node, ast.Assign | ast.AugAssign) or not isinstance(
        target.value, ast.Name | ast.Attribute
    ):
        return None
    name = source.segment(target.value)
    reads = list(items_read(node, target.value))
    if reads:
        edit = reduce(both, (appended(source, read, ".clone()") for read in reads))
        text = f"{source.segment(reads[0])}.clone()"
        return Writing(place(source, node), source.segment(node), text, edit)
    text = f"{name} = {name}.clone()"
    edit = inserted_before(source, node, text)
    return Writing(place(source, node), source.segment(node), text, edit, before=True)


def items_read(node: ast.Assign | ast.AugAssign, base: ast.expr) -> Iterator[ast.Subscript]:
    """Views of the tensor that the same statement computes with: `out[t] = f(out[t - 1])`."""
    for part in ast.walk(node.value):
        if isinstance(part, ast.Subscript) and ast.unparse(part.value) == ast.unparse(base):
            yield part


def is_product(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div | ast.MatMult)


def by_method(source: Source, node: ast.stmt, change: Write) -> Writing | None:
    """`h.clamp_(0)`, which becomes `h = h.clamp(0)`."""
    calls = [
        call
        for call in ast.walk(node)
        if isinstance(call, ast.Call) and is_writing_method(call.func)
    ]
    named = [call for call in calls if called(call) == change.name]
    if hasattr(node, "body") or not named:
        return None
    whole = source.segment(node)
    if not isinstance(node, ast.Expr):
        if len(calls) != 1:
            return None
        text = plain(source, calls[0])
        return Writing(
            place(source, node), source.segment(calls[0]), text, replaced(source, calls[0], text)
        )
    root = root_of(node.value)
    if root is None or len(calls) != len(list(chain(node.value))):
        return None
    text = f"{source.segment(root)} = {plain(source, node.value)}"
    return Writing(place(source, node), whole, text, replaced(source, node, text))


def plain(source: Source, node: ast.expr) -> str:
    """A chain of calls without the underscores."""
    text, begin = source.segment(node), source.span(node)
    for call in chain(node):
        if is_writing_method(call.func):
            end = source.span(call.func)
            if end.end_line != begin.line:
                return text
            at = end.end_column - begin.column
            text = text[: at - 1] + text[at:]
    return text


def by_argument(source: Source, node: ast.stmt) -> Writing | None:
    """`F.relu(h, inplace=True)`."""
    calls = [
        call for call in ast.walk(node) if isinstance(call, ast.Call) and is_told_to(source, call)
    ]
    if len(calls) != 1 or hasattr(node, "body"):
        return None
    return told_not_to(source, calls[0])


def by_layer(recording: Recording, change: Write) -> Writing | None:
    """`nn.ReLU(inplace=True)`, where no other layer of the kind writes in place."""
    kind = change.name.removesuffix("_").replace("_", "").lower()
    calls = [
        (source, call)
        for script in recording.all(Script)
        if (source := recording.source(script.file)) is not None
        for call in source.every(ast.Call)
        if called(call).lower() == kind and is_told_to(source, call)
    ]
    return told_not_to(*calls[0]) if len(calls) == 1 else None


def is_told_to(source: Source, call: ast.Call) -> bool:
    argument = source.argument(call, "inplace")
    positional = call.args[0] if called(call) == "ReLU" and call.args else None
    return any(
        isinstance(value, ast.Constant) and value.value is True for value in (argument, positional)
    )


def told_not_to(source: Source, call: ast.Call) -> Writing:
    edit = (
        replaced(source, call.args[0], "False")
        if source.argument(call, "inplace") is None
        else argument_added(source, call, "inplace", "False")
    )
    return Writing(place(source, call), source.segment(call), "inplace=False", edit, True)


def place(source: Source, node: ast.expr | ast.stmt) -> Place:
    return Place(source.file, node.lineno, node.end_lineno)
