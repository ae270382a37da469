"""Expressions that leave gaps in the index of a table, or bring it out of order."""

import ast
from collections.abc import Iterator

from surefit.source.classes import class_of, function_called, set_on_self
from surefit.source.reading import Source, called, dotted

LEAVE_GAPS = ("dropna", "drop_duplicates", "query", "sample", "sort_values", "drop", "tail")
KEEP_GAPS = (
    "copy",
    "astype",
    "rename",
    "fillna",
    "assign",
    "map",
    "apply",
    "str",
    "lower",
    "strip",
)
SPLITS = "train_test_split"
MASKS = (
    "isin",
    "notna",
    "notnull",
    "isna",
    "isnull",
    "between",
    "contains",
    "gt",
    "lt",
    "ge",
    "le",
)
NO_TABLE = ("values", "index", "columns", "shape", "iloc", "T")
MOST_STEPS = 12


def leaves_gaps(source: Source, node: ast.expr) -> bool:
    """What it gives is a part of a table under the numbers that the rows had before."""
    if isinstance(node, ast.Call):
        return call_leaves_gaps(source, node)
    if isinstance(node, ast.Attribute):
        return node.attr not in NO_TABLE and leaves_gaps(source, node.value)
    if not isinstance(node, ast.Subscript):
        return False
    base = node.value
    if isinstance(base, ast.Attribute) and base.attr in ("loc", "iloc"):
        key = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) else node.slice
        return is_mask(source, key) or cuts(key) or leaves_gaps(source, base.value)
    return is_mask(source, node.slice) or cuts(node.slice) or leaves_gaps(source, base)


def call_leaves_gaps(source: Source, call: ast.Call) -> bool:
    if called(call) == SPLITS:
        return True
    if not isinstance(call.func, ast.Attribute):
        return False
    anew = source.argument(call, "ignore_index")
    if isinstance(anew, ast.Constant) and anew.value is True:
        return False
    if call.func.attr in LEAVE_GAPS:
        return not drops_columns(source, call)
    return call.func.attr in KEEP_GAPS and leaves_gaps(source, call.func.value)


def drops_columns(source: Source, call: ast.Call) -> bool:
    if called(call) != "drop":
        return False
    axis = source.argument(call, "axis", 1)
    by_axis = isinstance(axis, ast.Constant) and axis.value in (1, "columns")
    return by_axis or source.argument(call, "columns") is not None


def is_mask(source: Source, key: ast.expr) -> bool:
    """Which rows are kept is asked of each of them."""
    key = source.value_of(key)
    if isinstance(key, ast.UnaryOp):
        return isinstance(key.op, ast.Invert)
    if isinstance(key, ast.BinOp):
        return isinstance(key.op, ast.BitAnd | ast.BitOr)
    return isinstance(key, ast.Compare) or (isinstance(key, ast.Call) and called(key) in MASKS)


def cuts(key: ast.expr) -> bool:
    """`[80:]`: the first of the rows that are left has another number than 0."""
    return isinstance(key, ast.Slice) and key.lower is not None


def gaps_behind(source: Source, node: ast.expr) -> list[ast.expr]:
    """The expressions that left gaps in what a value came from, followed through names, arguments
    and attributes of `self`; each once."""
    found = dict.fromkeys(follow(source, node, MOST_STEPS))
    return list(found)


def follow(source: Source, node: ast.expr, left: int) -> Iterator[ast.expr]:
    if left == 0:
        return
    if leaves_gaps(source, node):
        yield node
        return
    for before in came_from(source, node):
        yield from follow(source, before, left - 1)


def came_from(source: Source, node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.Attribute):
        held = set_on_self(source, node)
        yield held if held is not None else node.value
    elif isinstance(node, ast.Subscript):
        yield node.value
    elif isinstance(node, ast.Call):
        function = function_called(source, node)
        for one in ast.walk(function) if function else ():
            if isinstance(one, ast.Return) and one.value:
                yield one.value
        if isinstance(node.func, ast.Attribute) and node.func.attr in KEEP_GAPS:
            yield node.func.value
    elif isinstance(node, ast.Name):
        for bound in source.bound_by(node):
            if isinstance(bound, ast.Assign | ast.AnnAssign) and bound.value is not None:
                yield from values_bound(bound, node.id)
            elif isinstance(bound, ast.arg):
                yield from given_for(source, bound)


def values_bound(statement: ast.Assign | ast.AnnAssign, name: str) -> Iterator[ast.expr]:
    """What a name gets; of `a, b = x, y` its own part, of `a, b = split(...)` the whole."""
    value = statement.value
    target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for one, part in zip(target.elts, value.elts, strict=False):
            if dotted(one) == name:
                yield part
    elif value is not None:
        yield value


def given_for(source: Source, argument: ast.arg) -> Iterator[ast.expr]:
    """What the calls in this file give for an argument of a function or a class."""
    function = source.parents[source.parents[argument]]
    if not isinstance(function, ast.FunctionDef):
        return
    every = [*function.args.posonlyargs, *function.args.args]
    owner = source.parents[function]
    of_class = owner if isinstance(owner, ast.ClassDef) else None
    position = every.index(argument) - (1 if of_class else 0) if argument in every else None
    for call in source.every(ast.Call):
        if of_class and function.name == "__init__":
            meant = dotted(call.func).rpartition(".")[2] == of_class.name
        elif of_class:
            meant = (
                called(call) == function.name and class_of(source, call.func.value) is of_class
                if isinstance(call.func, ast.Attribute)
                else False
            )
        else:
            meant = dotted(call.func) == function.name
        given = source.argument(call, argument.arg, position) if meant else None
        if given is not None:
            yield given
