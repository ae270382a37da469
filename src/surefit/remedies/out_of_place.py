"""Statements that write into a tensor, and the same with a new tensor."""

import ast
from dataclasses import dataclass
from functools import reduce

from surefit.doctor.findings import Place
from surefit.doctor.graph_stories import Write
from surefit.doctor.recording import Recording
from surefit.laws.training.rounds import innermost
from surefit.source.edits import appended, argument_added, both, inserted_before, replaced
from surefit.source.in_place import chain, is_writing_method, root_of
from surefit.source.line_edits import shares_lines
from surefit.source.patches import Edit
from surefit.source.reading import Source, called
from surefit.source.selection import nodes_within

SIGNS = {
    **{ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"},
    **{ast.Pow: "**", ast.MatMult: "@", ast.FloorDiv: "//", ast.Mod: "%"},
}
SIMPLE = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Constant)


@dataclass(frozen=True, slots=True)
class Writing:
    """What writes, as it stands in the source, and what creates a new tensor."""

    source: Source
    node: ast.expr | ast.stmt
    instead: str
    edit: Edit
    by_layer: bool = False
    """A layer does it, wherever it is called."""
    before: bool = False
    """The new tensor is created by a statement before it."""

    @property
    def place(self) -> Place:
        return Place(self.source.file, self.node.lineno, self.node.end_lineno)

    @property
    def text(self) -> str:
        return self.source.segment(self.node)


def writing_of(recording: Recording, change: Write) -> Writing | None:
    here = innermost(recording, change.stack)
    if here is None:
        return None
    source, statement = here.source, here.statement
    ways = (
        by_operator(source, statement)
        or by_index(source, statement)
        or (by_method(source, statement, change) if here.is_simple else None)
        or (by_argument(source, statement) if here.is_simple else None)
    )
    return ways or by_layer(recording, change)


def by_operator(source: Source, node: ast.stmt) -> Writing | None:
    """`h += x`."""
    match node:
        case ast.AugAssign(target=ast.Name() | ast.Attribute() as target, op=op, value=value):
            name, text, sign = source.segment(target), source.segment(value), SIGNS.get(type(op))
            if sign is None:
                return None
            if not isinstance(value, SIMPLE) and not (sign in "+-" and is_product(value)):
                text = f"({text})"
            text = f"{name} = {name} {sign} {text}"
            return Writing(source, node, text, replaced(source, node, text))
    return None


def is_product(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div | ast.MatMult)


def by_index(source: Source, node: ast.stmt) -> Writing | None:
    """`h[mask] = 0`; of `out[t] = f(out[t - 1])`, the view that it reads is copied."""
    match node:
        case (
            ast.AugAssign(target=ast.Subscript(value=base), value=value)
            | ast.Assign(targets=[ast.Subscript(value=base)], value=value)
        ) if isinstance(base, ast.Name | ast.Attribute) and not shares_lines(source, node):
            name = source.segment(base)
            reads = [
                part
                for part in nodes_within(value, ast.Subscript)
                if ast.unparse(part.value) == ast.unparse(base)
            ]
            if reads:
                edit = reduce(both, (appended(source, read, ".clone()") for read in reads))
                return Writing(source, node, f"{source.segment(reads[0])}.clone()", edit)
            text = f"{name} = {name}.clone()"
            return Writing(source, node, text, inserted_before(source, node, text), before=True)
    return None


def by_method(source: Source, node: ast.stmt, change: Write) -> Writing | None:
    """`h.clamp_(0)`, which becomes `h = h.clamp(0)`."""
    calls = [call for call in nodes_within(node, ast.Call) if is_writing_method(call.func)]
    if not any(called(call) == change.name for call in calls):
        return None
    if not isinstance(node, ast.Expr):
        text = plain(source, calls[0])
        edit = replaced(source, calls[0], text)
        return Writing(source, calls[0], text, edit) if len(calls) == 1 else None
    root = root_of(node.value)
    if root is None or len(calls) != len(list(chain(node.value))):
        return None
    text = f"{source.segment(root)} = {plain(source, node.value)}"
    return Writing(source, node, text, replaced(source, node, text))


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
    calls = [call for call in nodes_within(node, ast.Call) if is_told_to(source, call)]
    return told_not_to(source, calls[0]) if len(calls) == 1 else None


def by_layer(recording: Recording, change: Write) -> Writing | None:
    """`nn.ReLU(inplace=True)`, where no other layer of the kind writes in place."""
    kind = change.name.removesuffix("_").replace("_", "").lower()
    calls = [
        (source, call)
        for source, call in recording.every(ast.Call)
        if called(call).lower() == kind and is_told_to(source, call)
    ]
    return told_not_to(*calls[0]) if len(calls) == 1 else None


def is_told_to(source: Source, call: ast.Call) -> bool:
    value = source.argument(call, "inplace", 0 if called(call) == "ReLU" else None)
    return isinstance(value, ast.Constant) and value.value is True


def told_not_to(source: Source, call: ast.Call) -> Writing:
    edit = (
        replaced(source, call.args[0], "False")
        if source.argument(call, "inplace") is None
        else argument_added(source, call, "inplace", "False")
    )
    return Writing(source, call, "inplace=False", edit, by_layer=True)
