"""Lists that a collate function fills in a loop and joins: `xs.append(x)` and `torch.cat(xs)`."""

import ast
from dataclasses import dataclass

from surefit.source.reading import Source, called

JOINING = ("cat", "concat", "concatenate", "hstack", "tensor")


@dataclass(frozen=True, slots=True)
class FilledList:
    """A list, the one expression that is appended to it, and the loop around that."""

    name: str
    element: ast.expr
    loop: ast.AST


def joined_list(source: Source, line: int, key: str) -> FilledList | None:
    """The list behind an entry of what the function at a line gives back: `1` of a tuple, `edges`
    of a dictionary."""
    function = next(
        (node for node in source.every(ast.FunctionDef) if first_line(node) <= line <= node.lineno),
        None,
    )
    if function is None:
        return None
    returned = [node for node in ast.walk(function) if isinstance(node, ast.Return) and node.value]
    if len(returned) != 1 or returned[0].value is None:
        return None
    joined = entry(source, source.value_of(returned[0].value), key)
    if not isinstance(joined, ast.Call) or called(joined) not in JOINING or not joined.args:
        return None
    listed = joined.args[0]
    return filled(source, function, listed.id) if isinstance(listed, ast.Name) else None


def first_line(function: ast.FunctionDef) -> int:
    """A code object begins with its decorators."""
    return min([function.lineno, *(node.lineno for node in function.decorator_list)])


def entry(source: Source, returned: ast.expr, key: str) -> ast.expr | None:
    match returned:
        case ast.Tuple(elts=parts) | ast.List(elts=parts) if key.isdigit():
            return source.value_of(parts[int(key)]) if int(key) < len(parts) else None
        case ast.Dict(keys=keys, values=values):
            for name, value in zip(keys, values, strict=True):
                if isinstance(name, ast.Constant) and name.value == key:
                    return source.value_of(value)
    return None


def filled(source: Source, function: ast.FunctionDef, name: str) -> FilledList | None:
    for node in ast.walk(function):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr="append"), args=[part]):
                loop = next(iter(source.loops_around(node)), None)
                if owner == name and loop is not None:
                    return FilledList(name, part, loop)
    return None
