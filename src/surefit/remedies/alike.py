"""The same change in calls that are given the same: the call in an evaluation fails later."""

import ast
from collections.abc import Callable, Iterator

from surefit.source.definitions import definition
from surefit.source.patches import Edit, both
from surefit.source.reading import Source

Change = Callable[[ast.expr], Edit | None]


def in_every_call(source: Source, node: ast.expr, change: Change) -> Edit | None:
    """A change of an argument, made in every call of the same function that is given the same."""
    edit = change(node)
    for other in same_arguments(source, node) if edit is not None else ():
        more = change(other)
        edit = both(edit, more) if edit is not None and more is not None else edit
    return edit


def same_arguments(source: Source, node: ast.expr) -> Iterator[ast.expr]:
    """Arguments at the same position of other calls of the same function, given the same."""
    call = source.parents.get(node)
    if not isinstance(call, ast.Call) or node not in call.args:
        return
    position, origin = call.args.index(node), origin_of(source, node)
    for other in source.every(ast.Call):
        if other is call or source.segment(other.func) != source.segment(call.func):
            continue
        same_count = bool(origin) and len(other.args) == len(call.args)
        if same_count and origin_of(source, other.args[position]) == origin:
            yield other.args[position]


def origin_of(source: Source, node: ast.expr) -> str:
    """`net(...)` for whatever `net` was called on; `item 1` for the second that a loop unpacks."""
    if isinstance(node, ast.Name):
        value = definition(source, node)
        if isinstance(value, ast.Call | ast.Subscript):
            return origin_of(source, value)
        loops = [binder for binder in source.bound_by(node) if isinstance(binder, ast.For)]
        if value is None and len(loops) == 1:
            return unpacked_as(loops[0], node.id)
    if isinstance(node, ast.Call):
        return f"{source.segment(node.func)}(...)"
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        return source.segment(node.value)
    return source.segment(node)


def unpacked_as(loop: ast.For, name: str) -> str:
    """Which item of a batch a loop gives a name; `enumerate` puts a number before the batch."""
    target = loop.target
    numbered = isinstance(loop.iter, ast.Call) and ast.unparse(loop.iter.func) == "enumerate"
    if numbered and isinstance(target, ast.Tuple) and len(target.elts) == 2:
        target = target.elts[1]
    names = [ast.unparse(item) for item in target.elts] if isinstance(target, ast.Tuple) else [name]
    return f"item {names.index(name)}" if name in names else ""
