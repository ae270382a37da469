"""Expressions whose result does not lie in memory as it reads: slices, transpositions."""

import ast

from surefit.doctor.observations import Value
from surefit.interpreter.strides import is_expanded, is_reordered
from surefit.source.definitions import definition
from surefit.source.reading import Source, called

REORDERS = (
    "transpose",
    "permute",
    "t",
    "movedim",
    "moveaxis",
    "swapaxes",
    "swapdims",
    "rearrange",
    "adjoint",
)
TURNED = ("T", "mT", "H", "mH")
EXPANDS = ("expand", "expand_as", "broadcast_to")
TAKES_PARTS = ("narrow", "select", "diagonal", "unfold")
PASSES_ON = ("to", "cuda", "cpu", "detach", "squeeze", "unsqueeze", "requires_grad_")
"""Methods whose result has the strides of what they were called on."""
MOST_NAMES = 8


def strided_behind(source: Source, node: ast.expr) -> ast.expr | None:
    """The slice, transposition or expansion that an expression stands for, followed through names
    that surely have their value from it; None where the source does not tell."""
    for _ in range(MOST_NAMES):
        if how(node):
            return node
        if isinstance(node, ast.Name):
            found = definition(source, node)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            found = node.func.value if node.func.attr in PASSES_ON else None
        else:
            found = None
        if found is None:
            return None
        node = found
    return None


def how(node: ast.expr) -> str:
    """`slice`, `transposition`, `expansion`, or nothing for every other expression."""
    if isinstance(node, ast.Subscript):
        return "slice" if cuts_rows(node.slice) else ""
    if isinstance(node, ast.Attribute):
        return "transposition" if node.attr in TURNED else ""
    name = called(node) if isinstance(node, ast.Call) else ""
    if name in REORDERS:
        return "transposition"
    if name in EXPANDS:
        return "expansion"
    return "slice" if name in TAKES_PARTS else ""


def cuts_rows(index: ast.expr) -> bool:
    """A part of another axis than the first, or every so manyth element."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    if any(isinstance(part, ast.Slice) and part.step is not None for part in parts):
        return True
    whole = (None, None)
    return any(
        not (isinstance(part, ast.Slice) and (part.lower, part.upper) == whole)
        and not (isinstance(part, ast.Constant) and part.value in (None, ...))
        for part in parts[1:]
    )


def explains(node: ast.expr, value: Value | None) -> bool:
    """Whether strides as they were seen can come from this expression."""
    if value is None or value.shape is None or value.stride is None:
        return True
    reordered = is_reordered(value.shape, value.stride)
    expanded = is_expanded(value.shape, value.stride)
    match how(node):
        case "transposition":
            return reordered or expanded
        case "expansion":
            return expanded
    return not reordered and not expanded
