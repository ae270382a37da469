"""Columns that a script cuts off, and views that join what is left of the rows."""

import ast
from collections.abc import Iterator

from surefit.source.definitions import definition
from surefit.source.reading import Source


def joined_rows(source: Source) -> Iterator[tuple[ast.Call, ast.Subscript]]:
    """Calls `x.view(-1)` and `x.view(-1, n)`, and the slice that `x` is, where the new shape has
    fewer axes than the slice is known to have."""
    for node in source.nodes:
        match node:
            case ast.Call(func=ast.Attribute(value=receiver, attr="view"), args=[first, *more]):
                cut = cut_behind(source, receiver) if ast.unparse(first) == "-1" else None
                if cut is not None and len(more) + 1 < len(cut.slice.elts):  # type: ignore[attr-defined]
                    yield node, cut


def cut_behind(source: Source, node: ast.expr) -> ast.Subscript | None:
    """`x[:, 1:]` or `x[:, :-1, ...]`: all rows, and surely not all columns."""
    if isinstance(node, ast.Name):
        found = definition(source, node)
        return cut_behind(source, found) if found and not isinstance(found, ast.Name) else None
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Tuple):
        return None
    first, second, *rest = node.slice.elts
    cuts = is_whole(first) and is_shorter(second) and all(is_whole(one) for one in rest)
    return node if cuts else None


def is_whole(part: ast.expr) -> bool:
    return isinstance(part, ast.Slice) and part.lower is part.upper is part.step is None


def is_shorter(part: ast.expr) -> bool:
    """`1:` or `:-1`, with numbers."""
    if not isinstance(part, ast.Slice) or part.step is not None:
        return False
    lower, upper = (ast.unparse(one) if one else "" for one in (part.lower, part.upper))
    from_later = lower.isdigit() and int(lower) > 0
    to_earlier = upper.startswith("-") and upper[1:].isdigit()
    return (from_later and not upper) or (to_earlier and not lower) or (from_later and to_earlier)
