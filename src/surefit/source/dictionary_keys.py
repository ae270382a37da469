"""Keys of a dictionary that a call is given with two stars, and where each of them is written."""

import ast
from collections.abc import Iterator

from surefit.source.callers import position_in
from surefit.source.classes import Method, set_on_self
from surefit.source.reading import Source, called

Key = ast.keyword | ast.Constant
MOST = 8
Followed = set[ast.arg]
"""Arguments whose calls were looked at: functions that call each other are gone through once."""
COPIES = ("copy", "deepcopy", "dict", "OrderedDict", "SimpleNamespace")


def keys_of(source: Source, node: ast.expr) -> Iterator[tuple[str, Key]]:
    """Through names, arguments, attributes of `self`, members of other dictionaries."""
    yield from keys_within(source, node, MOST, set())


def keys_within(
    source: Source, node: ast.expr | ast.keyword, left: int, followed: Followed
) -> Iterator[tuple[str, Key]]:
    if isinstance(node, ast.keyword) and node.arg is not None:
        yield node.arg, node
    elif isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield key.value, key
            elif key is None and left:
                yield from keys_within(source, value, left - 1, followed)
    elif left:
        for part in parts_of(source, node, left, followed):
            yield from keys_within(source, part, left - 1, followed)
        if isinstance(node, ast.Name):
            yield from set_later(source, node)


def parts_of(
    source: Source, node: ast.expr | ast.keyword, left: int, followed: Followed
) -> Iterator[ast.expr | ast.keyword]:
    """What the keys of a dictionary are from: `dict(a=1, **others)`, `settings.copy()`, `a | b`."""
    match node:
        case ast.keyword(value=value):
            yield value
        case ast.Call(func=ast.Attribute(value=owner, attr="copy"), args=[]):
            yield owner
            yield from node.keywords
        case ast.Call() if called(node) in COPIES:
            yield from node.args[:1]
            yield from node.keywords
        case ast.BinOp(left=one, op=ast.BitOr(), right=other):
            yield from (one, other)
        case ast.Name() | ast.Attribute() | ast.Subscript():
            yield from values_of(source, node, left, followed)


def values_of(
    source: Source, node: ast.expr, left: int, followed: Followed
) -> Iterator[ast.expr | ast.keyword]:
    """What a name, an attribute or an item stands for: the one assignment, or what calls give."""
    match node:
        case ast.Name():
            match source.bound_by(node):
                case [ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value)]:
                    yield value
                case [ast.arg() as argument]:
                    yield from given_for(source, argument, followed)
        case ast.Attribute():
            yield from filter(None, [set_on_self(source, node)])
        case ast.Subscript(value=owner, slice=ast.Constant(value=str() as key)):
            found = (member(source, one, key) for one in displays(source, owner, left, set()))
            yield from [value for value in found if value is not None][:1]


def displays(
    source: Source, node: ast.expr, left: int, followed: Followed
) -> Iterator[ast.Dict | ast.Call]:
    """Dictionaries as they are written that an expression stands for."""
    if isinstance(node, ast.Dict | ast.Call):
        yield node
    for value in values_of(source, node, left - 1, followed) if left else ():
        if isinstance(value, ast.expr):
            yield from displays(source, value, left - 1, followed)


def member(source: Source, display: ast.Dict | ast.Call, key: str) -> ast.expr | None:
    if isinstance(display, ast.Call):
        return source.argument(display, key) if called(display) in COPIES else None
    for one, value in zip(display.keys, display.values, strict=True):
        if isinstance(one, ast.Constant) and one.value == key:
            return value
    return None


def set_later(source: Source, name: ast.Name) -> Iterator[tuple[str, ast.Constant]]:
    """`settings["key"] = ...` anywhere in the file, of what one assignment made."""
    bound = source.bound_by(name)
    plain = len(bound) == 1 and isinstance(bound[0], ast.Assign | ast.AnnAssign)
    for one in source.every(ast.Assign) if plain else ():
        match one.targets:
            case [ast.Subscript(value=ast.Name() as owner, slice=ast.Constant(value=str()) as key)]:
                if owner.id == name.id and source.bound_by(owner) == bound:
                    yield str(key.value), key


def given_for(
    source: Source, argument: ast.arg, followed: Followed
) -> Iterator[ast.keyword | ast.expr]:
    """In calls of the function that an argument is one of: what they give for it, and for
    `**kwargs` every keyword that has no argument of its own."""
    function = source.parents[source.parents[argument]]
    if argument in followed or not isinstance(function, Method):
        return
    followed.add(argument)
    listed, owner = function.args, source.parents[function]
    named = [one.arg for one in (*listed.posonlyargs, *listed.args, *listed.kwonlyargs)]
    made = owner if isinstance(owner, ast.ClassDef) and function.name == "__init__" else function
    for call in source.calls_named(made.name):
        if argument is listed.kwarg:
            yield from (word for word in call.keywords if word.arg not in named)
        else:
            value = source.argument(
                call, argument.arg, position_in(source, function, call, argument)
            )
            yield from filter(None, [value])
