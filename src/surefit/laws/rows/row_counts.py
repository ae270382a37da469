"""Integers in the user's source that stand for rows: what they are, and how a batch says them."""

import ast
from collections.abc import Iterator
from math import prod

from surefit.doctor.observations import Frame, Value
from surefit.source.reading import Source

Leaf = ast.Constant | ast.Name | ast.Attribute | ast.Subscript


def leaves(node: ast.AST) -> Iterator[Leaf]:
    """Numbers and names in an expression, the sizes of tensors left out."""
    match node:
        case ast.Call(func=ast.Name(id="len")) | ast.Call(func=ast.Attribute(attr="size")):
            return
        case ast.Subscript(value=ast.Attribute(attr="shape")):
            return
        case ast.Constant() | ast.Name() | ast.Attribute() | ast.Subscript():
            yield node
            return
    for child in ast.iter_child_nodes(node):
        yield from leaves(child)


def fits(target: list[int], count: int) -> bool:
    """Whether so many elements can have this shape, of which one size can be -1."""
    known = prod(size for size in target if size != -1)
    if target.count(-1) == 1:
        return known > 0 and count % known == 0
    return -1 not in target and known == count


def with_rows(frame: Frame, rows: int, but: str = "") -> str | None:
    """How the frame can say so many rows: `x.size(0)`; arguments and first axes before others."""
    tensors = [value for value in frame.values if value.shape and rows in value.shape]
    named = [value for value in tensors if is_plain(value) and value.text != but]
    axes = [((value.shape or ()).index(rows), order(value, frame), value.text) for value in named]
    best = min(axes, key=lambda axis: axis[:2], default=None)
    return f"{best[2]}.size({best[0]})" if best is not None else None


def order(value: Value, frame: Frame) -> int:
    return (
        frame.arguments.index(value.text) if value.text in frame.arguments else len(value.text) + 50
    )


def is_plain(value: Value) -> bool:
    """A name, or an item of a batch: what can be asked for its size in one more word."""
    return value.kind == "Tensor" and "(" not in value.text and ":" not in value.text


def is_written_down(source: Source, node: ast.expr) -> bool:
    """`32`, `BATCH`, `args.batch_size`: a number that is not asked of a tensor."""
    if isinstance(node, ast.Constant):
        return type(node.value) is int
    if isinstance(node, ast.Name):
        bound = [binder for binder in source.bound_by(node) if isinstance(binder, ast.Assign)]
        texts = [ast.unparse(binder) for binder in bound]
        return not any(word in text for text in texts for word in (".shape", ".size(", "len("))
    return isinstance(node, ast.Attribute | ast.Subscript) and ".shape" not in ast.unparse(node)
