"""The part of a line that failed, and the values of its parts, read without running anything."""

import ast
import linecache
import sys
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from types import FrameType
from typing import Any

from surefit.observe.inside.autopsy.values import (
    attributes,
    is_module,
    is_tensor,
    mapping,
    untouched,
)
from surefit.source.spans import Span

TENSOR_ATTRIBUTES = ("shape", "dtype", "device", "data", "grad", "T", "mT", "ndim")

VIEWS = ("transpose", "permute", "t", "movedim", "swapaxes", "unsqueeze", "squeeze", "narrow")
"""Methods of a tensor that copy nothing."""
NUMBERS = ("size", "dim", "numel")
"""Methods of a tensor that give numbers which it has anyway."""


@dataclass(frozen=True, slots=True)
class Failed:
    """Where in its source a frame stood."""

    statement: ast.stmt | None
    expression: ast.expr | None
    text: str
    """The statement's first line, or the whole if it is short."""
    part: str | None
    span: Span | None
    function: ast.AST | None = None
    """The function, or the file, that the statement stands in."""


@cache
def _tree(file: str, text: str) -> ast.Module | None:  # noqa: ARG001 - the name keeps files apart
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return None


def failed_at(frame: FrameType, instruction: int, line: int) -> Failed:
    lines = linecache.getlines(frame.f_code.co_filename, frame.f_globals)
    tree = _tree(frame.f_code.co_filename, "".join(lines))
    shown = lines[line - 1].strip() if 0 < line <= len(lines) else ""
    if tree is None:
        return Failed(None, None, shown, None, None)
    statement = _statement(tree, line)
    position = _position(frame, instruction)
    node = _exactly(tree, position) if position else None
    part = _text(node, lines) if node is not None else None
    whole = _text(statement, lines) if statement is not None else None
    if whole is not None and whole.count("\n") < 3 and not hasattr(statement, "body"):
        shown = whole
    span = _span(node, lines) if node is not None else None
    return Failed(statement, node, shown, part, span, _function(tree, line))


def _position(frame: FrameType, instruction: int) -> tuple[int, int, int, int] | None:
    for at, position in enumerate(frame.f_code.co_positions()):
        if at == instruction // 2:
            line, end_line, column, end_column = position
            if line is None or end_line is None or column is None or end_column is None:
                return None
            return line, column, end_line, end_column
    return None


def _exactly(tree: ast.Module, position: tuple[int, int, int, int]) -> ast.expr | None:
    for node in _around(tree, position[0], position[2]):
        if isinstance(node, ast.expr) and position == (
            node.lineno,
            node.col_offset,
            node.end_lineno,
            node.end_col_offset,
        ):
            return node
    return None


def _around(tree: ast.Module, line: int, end_line: int) -> Iterator[ast.AST]:
    """Nodes that reach over these lines, as `ast.walk` orders them: files of libraries are long."""
    waiting: deque[ast.AST] = deque([tree])
    while waiting:
        node = waiting.popleft()
        yield node
        waiting += (
            inner
            for inner in ast.iter_child_nodes(node)
            if not hasattr(inner, "lineno")
            or _first_line(inner) <= line <= end_line <= (inner.end_lineno or end_line)  # type: ignore[attr-defined]
        )


def _first_line(node: Any) -> int:
    """Decorators stand above what they decorate."""
    first: int = min([node.lineno, *(mark.lineno for mark in getattr(node, "decorator_list", ()))])
    return first


def _text(node: ast.stmt | ast.expr, lines: list[str]) -> str:
    """As it is written; `ast.get_source_segment` splits the whole file each time."""
    end_line = node.end_lineno or node.lineno
    text = [line.encode() for line in lines[node.lineno - 1 : end_line]]
    text[-1] = text[-1][: node.end_col_offset]
    text[0] = text[0][node.col_offset :]
    return b"".join(text).decode(errors="replace")


def _statement(tree: ast.Module, line: int) -> ast.stmt | None:
    covering = [
        node
        for node in _around(tree, line, line)
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or line)
    ]
    return min(covering, key=lambda n: ((n.end_lineno or 0) - n.lineno, -n.lineno), default=None)


def _function(tree: ast.Module, line: int) -> ast.AST:
    covering = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.lineno <= line <= (node.end_lineno or line)
    ]
    return max(covering, key=lambda node: node.lineno, default=tree)


def _span(node: ast.expr, lines: list[str]) -> Span:
    """Columns count bytes in `ast`, characters here."""

    def characters(line: int, count: int) -> int:
        return len(lines[line - 1].encode()[:count].decode(errors="ignore"))

    end_line = node.end_lineno or node.lineno
    return Span(
        node.lineno,
        characters(node.lineno, node.col_offset),
        end_line,
        characters(end_line, node.end_col_offset or 0),
    )


MISSING = object()


def parts(node: ast.AST, frame: FrameType) -> Iterator[tuple[str, object]]:
    """Every name, attribute, subscript and view below a node that can be read, with its value."""
    seen: set[str] = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name | ast.Attribute | ast.Subscript | ast.Call):
            text = ast.unparse(inner)
            value = MISSING if text in seen else read(inner, frame)
            seen.add(text)
            if value is not MISSING and not is_code(value):
                yield text, value


def is_code(value: object) -> bool:
    return type(value).__name__ in ("module", "function", "builtin_function_or_method", "type")


def read(node: ast.AST, frame: FrameType) -> Any:
    """The value of an expression, or MISSING where reading it would run something."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        for names in (frame.f_locals, frame.f_globals):
            if node.id in names:
                return names[node.id]
        return MISSING
    if isinstance(node, ast.Attribute):
        return _attribute(read(node.value, frame), node.attr)
    if isinstance(node, ast.Subscript):
        return _subscript(read(node.value, frame), node.slice, frame)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        number = read(node.operand, frame)
        return -number if type(number) in (int, float) else MISSING
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.keywords:
        numbers = [read(one, frame) for one in node.args]
        return _turned(read(node.func.value, frame), node.func.attr, numbers)
    return MISSING


_made: list[object] = []


def _kept(value: Any) -> Any:
    """What only reading has made stays alive, or another one would get its identity."""
    _made.append(value)
    return value


def let_go() -> None:
    """After a crash has been written down."""
    _made.clear()


def _attribute(value: object, name: str) -> Any:
    if value is MISSING:
        return MISSING
    own = attributes(value)
    if name in own:
        return own[name]
    if is_tensor(value):
        if name not in TENSOR_ATTRIBUTES:
            return MISSING
        with untouched():
            return _kept(getattr(sys.modules["torch"].Tensor, name).__get__(value))
    if name == "values" and _is_of_pandas(value):
        return _kept(value.values)  # type: ignore[attr-defined]
    if is_module(value):
        for table in ("_parameters", "_buffers", "_modules"):
            if name in own.get(table, {}):
                return own[table][name]
    inside = mapping(value)  # `output.logits`, `batch.input_ids`
    if inside is not None and name in inside and not hasattr(dict, name):
        return inside[name]
    return MISSING


def _subscript(value: object, key: ast.expr, frame: FrameType) -> Any:
    if type(value).__module__ in ("torch", "torch.nn.parameter") and is_tensor(value):
        return _sliced(value, _index(key, frame))
    index = read(key, frame)
    if value is MISSING or index is MISSING:
        return MISSING
    if (type(value) in (list, tuple) or type(value).__name__ == "Size") and type(index) is int:
        return value[index] if -len(value) <= index < len(value) else MISSING  # type: ignore[index, arg-type]
    inside = mapping(value)
    if inside is not None and type(index) in (str, int):
        return inside.get(index, MISSING)
    if type(index) is str and _has_lazy_columns(value):
        names = attributes(value)["_data"].column_names
        return _kept(value[index]) if index in names else MISSING  # type: ignore[index]
    if type(index) in (str, int) and _is_of_pandas(value):
        return _kept(value.get(index, MISSING))  # type: ignore[attr-defined]
    if type(value).__name__ == "ModuleList" and type(index) is int:
        return attributes(value)["_modules"].get(str(index), MISSING)
    return MISSING


def _has_lazy_columns(value: object) -> bool:
    """A table of `datasets` of a version that reads nothing when a column is asked for."""
    module = sys.modules.get("datasets.arrow_dataset")
    return (
        type(value) is vars(module).get("Dataset") and "Column" in vars(module) if module else False
    )


def _is_of_pandas(value: object) -> bool:
    """A table or a column, of pandas' own making: a row of a table is a column, too."""
    kinds = ("DataFrame", "Series")
    return type(value).__module__.partition(".")[0] == "pandas" and type(value).__name__ in kinds


def _index(key: ast.expr, frame: FrameType) -> Any:
    """Numbers, slices and what may stand beside them: such an index gives a view."""
    if isinstance(key, ast.Tuple):
        parts = tuple(_index(one, frame) for one in key.elts)
        return MISSING if MISSING in parts else parts
    if isinstance(key, ast.Slice):
        ends = [read(one, frame) if one else None for one in (key.lower, key.upper, key.step)]
        return slice(*ends) if all(one is None or type(one) is int for one in ends) else MISSING
    index = read(key, frame)
    return index if index is None or index is ... or type(index) is int else MISSING


def _sliced(tensor: Any, index: Any) -> Any:
    if index is MISSING:
        return MISSING
    try:
        with untouched():
            return _kept(tensor[index])
    except (IndexError, ValueError, RuntimeError):
        return MISSING


def _turned(tensor: Any, method: str, numbers: list[Any]) -> Any:
    """`x.transpose(1, 2)`: a view, of torch's own making where the tensor is of its own class."""
    plain = type(tensor).__module__ in ("torch", "torch.nn.parameter") and is_tensor(tensor)
    if (
        not plain
        or method not in (*VIEWS, *NUMBERS)
        or any(type(one) is not int for one in numbers)
    ):
        return MISSING
    try:
        with untouched():
            return _kept(getattr(tensor, method)(*numbers))
    except (IndexError, ValueError, RuntimeError, TypeError):
        return MISSING
