"""Calls of the user's own code that make one tensor of the rows of a batch, and of which column."""

import ast

from surefit.doctor.observations import Frame
from surefit.source.reading import Source, called

STACKS = ("stack", "tensor", "as_tensor", "LongTensor", "FloatTensor", "IntTensor", "array")


def calls_in_function(source: Source, frame: Frame) -> list[tuple[ast.Call, str]]:
    """In the function of a frame, each with its column: the key or the position in a row."""
    statement = source.statement_at(frame.place.line or 0)
    scope = source.scope_of(statement) if statement else None
    if not isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return []
    calls = [node for node in ast.walk(scope) if isinstance(node, ast.Call)]
    stacking = [call for call in calls if is_stacking(source, call)]
    columns = [(call, column_in(source, call.args[0])) for call in stacking]
    return [(call, column) for call, column in columns if column]


def call_at(source: Source, frame: Frame) -> ast.Call | None:
    """The stacking call on the failing line, outside of any function of rows."""
    first = frame.place.line or 0
    for call in source.calls_in(first, frame.place.end_line or first):
        if called(call) in STACKS and call.args and is_at(source, call, frame):
            return call
    return None


def is_stacking(source: Source, call: ast.Call) -> bool:
    """`torch.stack([torch.tensor(row) ...])`: the inner call makes a single row."""
    if called(call) not in STACKS or not call.args:
        return False
    for outer in source.up(call):
        if isinstance(outer, ast.stmt):
            return True
        if isinstance(outer, ast.Call) and called(outer) in (*STACKS, "pad_sequence"):
            return False
    return True


def is_at(source: Source, call: ast.Call, frame: Frame) -> bool:
    """It is what failed, or stands around that."""
    span, inner = source.span(call), frame.span
    if inner is None:
        return span.line <= (frame.place.line or 0) <= span.end_line
    begins = (span.line, span.column) <= (inner.line, inner.column)
    return begins and (inner.end_line, inner.end_column) <= (span.end_line, span.end_column)


def column_in(source: Source, node: ast.expr) -> str:
    """The column that an expression takes from every row; empty where the source does not say."""
    for inner in ast.walk(node):
        match inner:
            case ast.Subscript(slice=ast.Constant(value=str() | int() as key)):
                return str(key)
            case ast.Name():
                if column := unpacked(source, inner):
                    return column
    return ""


def unpacked(source: Source, name: ast.Name) -> str:
    """Its position in `ids, labels = zip(*rows)`, or in `for ids, label in rows`."""
    for binder in source.bound_by(name):
        match binder:
            case ast.Assign(targets=[ast.Tuple(elts=parts)], value=ast.Call() as value):
                if called(value) in ("zip", "map", "list"):
                    return position_among(parts, name)
            case (
                ast.comprehension(target=ast.Tuple(elts=parts))
                | ast.For(target=ast.Tuple(elts=parts))
            ):
                return position_among(parts, name)
            case ast.Assign(value=ast.ListComp() as value):
                return column_in(source, value)
    return ""


def position_among(parts: list[ast.expr], name: ast.Name) -> str:
    names = [ast.unparse(part) for part in parts]
    return str(names.index(name.id)) if name.id in names else ""
