"""Keys of a dictionary that a call is given with two stars, and where each of them is written."""

import ast
from collections.abc import Iterator

from surefit.source.classes import set_on_self
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
    source: Source, node: ast.expr, left: int, followed: Followed
) -> Iterator[tuple[str, Key]]:
    if not left:
        return
    match node:
        case ast.Dict():
            yield from of_literal(source, node, left, followed)
        case ast.Call():
            yield from of_call(source, node, left, followed)
        case ast.BinOp(left=one, op=ast.BitOr(), right=other):
            yield from keys_within(source, one, left - 1, followed)
            yield from keys_within(source, other, left - 1, followed)
        case ast.Name():
            yield from of_name(source, node, left, followed)
        case ast.Attribute():
            value = set_on_self(source, node)
            yield from keys_within(source, value, left - 1, followed) if value is not None else ()
        case ast.Subscript(value=owner, slice=ast.Constant(value=str() as key)):
            value = member(source, owner, key, left - 1)
            yield from keys_within(source, value, left - 1, followed) if value is not None else ()


def of_literal(
    source: Source, node: ast.Dict, left: int, followed: Followed
) -> Iterator[tuple[str, Key]]:
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            yield from keys_within(source, value, left - 1, followed)
        elif isinstance(key, ast.Constant) and isinstance(key.value, str):
            yield key.value, key


def of_call(
    source: Source, node: ast.Call, left: int, followed: Followed
) -> Iterator[tuple[str, Key]]:
    """`dict(a=1, **others)`, `settings.copy()`."""
    if called(node) not in COPIES:
        return
    if isinstance(node.func, ast.Attribute) and called(node) == "copy" and not node.args:
        yield from keys_within(source, node.func.value, left - 1, followed)
    for one in node.args[:1]:
        yield from keys_within(source, one, left - 1, followed)
    for word in node.keywords:
        if word.arg is not None:
            yield word.arg, word
        else:
            yield from keys_within(source, word.value, left - 1, followed)


def of_name(
    source: Source, name: ast.Name, left: int, followed: Followed
) -> Iterator[tuple[str, Key]]:
    """Of the one assignment, with items that are set later; of an argument, what calls give."""
    bound = source.bound_by(name)
    if len(bound) != 1:
        return
    match bound[0]:
        case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
            yield from keys_within(source, value, left - 1, followed)
            yield from set_later(source, name, bound)
        case ast.arg() as argument:
            for node in given_for(source, argument, followed):
                if isinstance(node, ast.keyword):
                    yield str(node.arg), node
                else:
                    yield from keys_within(source, node, left - 1, followed)


def set_later(
    source: Source, name: ast.Name, bound: list[ast.AST]
) -> Iterator[tuple[str, ast.Constant]]:
    """`settings["key"] = ...` anywhere in the file."""
    for one in source.every(ast.Assign):
        match one.targets:
            case [ast.Subscript(value=ast.Name() as owner, slice=ast.Constant(value=str()) as key)]:
                if owner.id == name.id and source.bound_by(owner) == bound:
                    yield str(key.value), key


def given_for(
    source: Source, argument: ast.arg, followed: Followed
) -> Iterator[ast.keyword | ast.expr]:
    """In calls of the function that an argument is one of: what they give for it, and for
    `**kwargs` every keyword that has no argument of its own."""
    if argument in followed:
        return
    followed.add(argument)
    listed = source.parents.get(argument)
    function = source.parents.get(listed) if listed is not None else None
    if not isinstance(listed, ast.arguments) or not isinstance(function, ast.FunctionDef):
        return
    owner = source.parents.get(function)
    made = function.name == "__init__" and isinstance(owner, ast.ClassDef)
    name = owner.name if made and isinstance(owner, ast.ClassDef) else function.name
    named = [one.arg for one in (*listed.posonlyargs, *listed.args, *listed.kwonlyargs)]
    plain = named[1:] if isinstance(owner, ast.ClassDef) else named
    for call in source.every(ast.Call):
        if called(call) != name:
            continue
        if argument is listed.kwarg:
            yield from (one for one in call.keywords if one.arg and one.arg not in named)
            yield from (one.value for one in call.keywords if one.arg is None)
            continue
        position = plain.index(argument.arg) if argument.arg in plain else None
        value = source.argument(call, argument.arg, position)
        if value is not None:
            yield value


def member(source: Source, owner: ast.expr, key: str, left: int) -> ast.expr | None:
    """What a dictionary has under a key."""
    if not left:
        return None
    for node in values_of(source, owner, left, set()):
        match node:
            case ast.Dict(keys=keys, values=values):
                for one, value in zip(keys, values, strict=True):
                    if isinstance(one, ast.Constant) and one.value == key:
                        return value
            case ast.Call(keywords=keywords) if called(node) in COPIES:
                for word in keywords:
                    if word.arg == key:
                        return word.value
    return None


def values_of(source: Source, node: ast.expr, left: int, followed: Followed) -> Iterator[ast.expr]:
    """Expressions that a name, an attribute or an item stands for."""
    if isinstance(node, ast.Dict | ast.Call):
        yield node
    elif isinstance(node, ast.Name):
        bound = source.bound_by(node)
        one = bound[0] if len(bound) == 1 else None
        if isinstance(one, ast.Assign | ast.AnnAssign) and one.value is not None and left:
            yield from values_of(source, one.value, left - 1, followed)
        elif isinstance(one, ast.arg) and left:
            for given in given_for(source, one, followed):
                if isinstance(given, ast.expr):
                    yield from values_of(source, given, left - 1, followed)
    elif isinstance(node, ast.Attribute):
        value = set_on_self(source, node)
        yield from (
            values_of(source, value, left - 1, followed) if value is not None and left else ()
        )
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and left:
        value = member(source, node.value, str(node.slice.value), left - 1)
        yield from values_of(source, value, left - 1, followed) if value is not None else ()
