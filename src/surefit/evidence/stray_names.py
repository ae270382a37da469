"""What the user's lines call a tensor that an operation was given."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.observations import Crash, Frame, Operation, Value
from surefit.evidence.failing_expressions import parsed
from surefit.evidence.frame_names import named


@dataclass(frozen=True, slots=True)
class Named:
    """A tensor under the name that a frame has for it."""

    frame: Frame
    text: str
    value: Value


def names_of(crash: Crash, tensor: Operation) -> list[Named]:
    """In own frames whose line reads it, innermost first."""
    return [one for frame in reversed(crash.frames) if frame.own for one in in_frame(frame, tensor)]


def in_frame(frame: Frame, tensor: Operation) -> Iterator[Named]:
    """Names that the line writes first; then members of what it writes, as in `model(**batch)`."""
    fitting = [(text, one) for text, one in named(frame) if is_same(one, tensor)]
    written = texts_in(frame)
    for text, one in fitting:
        if normal(text) in written:
            yield Named(frame, text, one)
    for text, one in fitting:
        inside = parsed(text)
        if isinstance(inside, ast.Subscript) and ast.unparse(inside.value) in written:
            yield Named(frame, text, one)


def is_same(value: Value, tensor: Operation) -> bool:
    """As far as a second run can tell: by shape, dtype and device."""
    seen = value.shape, value.dtype, value.device
    return seen == (tensor.shape, tensor.dtype, tensor.device)


def texts_in(frame: Frame) -> set[str]:
    try:
        tree = ast.parse(frame.line)
    except SyntaxError:
        whole = parsed(frame.expression)
        return texts_of(whole) if whole is not None else set()
    return texts_of(tree)


def texts_of(tree: ast.AST) -> set[str]:
    kinds = ast.Name | ast.Attribute | ast.Subscript
    return {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, kinds)}


def normal(text: str) -> str:
    node = parsed(text)
    return ast.unparse(node) if node is not None else text


def outside_the_model(names: list[Named]) -> Named | None:
    """Where the user's own loop or function has it, before any module was called."""
    return next((one for one in reversed(names) if one.frame.layer is None), None)
