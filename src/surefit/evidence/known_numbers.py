"""Whole numbers that expressions of the source stand for, by the source and by frames."""

import ast
import operator
from collections.abc import Callable, Mapping

from surefit.doctor.observations import Crash
from surefit.source.reading import Source, called, targets

DEEPEST = 12
ARITHMETIC: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}


def numbers_in(crash: Crash) -> dict[str, int]:
    """Names of whole numbers in the user's frames; of several of one name the innermost counts."""
    found: dict[str, int] = {}
    for frame in crash.frames:
        for value in frame.values if frame.own else ():
            if type(value.scalar) is int:
                found[value.text] = value.scalar
    return found


def number_of(
    source: Source, node: ast.expr | None, known: Mapping[str, int], deep: int = 0
) -> int | None:
    """A literal, a name that is one, an attribute that is set to one, a sum of such."""
    if node is None or deep > DEEPEST:
        return None
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        number = number_of(source, node.operand, known, deep + 1)
        return None if number is None else -number
    if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        left = number_of(source, node.left, known, deep + 1)
        right = number_of(source, node.right, known, deep + 1)
        both = left is not None and right is not None
        return ARITHMETIC[type(node.op)](left, right) if both else None  # type: ignore[arg-type]
    origin = origin_of(source, node)
    number = number_of(source, origin, known, deep + 1) if origin is not None else None
    return number if number is not None else known.get(ast.unparse(node))


def origin_of(source: Source, node: ast.expr) -> ast.expr | None:
    """What a name or an attribute has its value from: its one assignment, or a default."""
    if isinstance(node, ast.Name):
        bound = source.bound_by(node)
        if len(bound) != 1:
            return None
        if isinstance(bound[0], ast.arg):
            return default_of(source, bound[0])
        return assigned(bound[0])
    if isinstance(node, ast.Attribute):
        return set_on(source, node.attr)
    return None


def set_on(source: Source, attribute: str) -> ast.expr | None:
    """What the one statement that sets an attribute gives it; where that stands in the body of a
    class, what the one call of the class gives for it comes first."""
    found = [one for one in source.every(ast.stmt) if sets(one, attribute, source)]
    owner = source.parents.get(found[0]) if len(found) == 1 else None
    if not isinstance(owner, ast.ClassDef):
        return assigned(found[0]) if len(found) == 1 else None
    at = [targets(one)[0] for one in owner.body if isinstance(one, ast.AnnAssign)]
    names = [one.id for one in at if isinstance(one, ast.Name)]
    position = names.index(attribute) if attribute in names else None
    calls = [one for one in source.every(ast.Call) if called(one) == owner.name]
    given = [value for one in calls if (value := source.argument(one, attribute, position))]
    if not given:
        return assigned(found[0])
    return given[0] if len(given) == len(calls) == 1 else None


def assigned(statement: ast.AST) -> ast.expr | None:
    return statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None


def sets(statement: ast.stmt, name: str, source: Source) -> bool:
    """`anything.name = ...`, or `name = ...` in the body of a class."""
    if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is None:
        return False
    in_class = isinstance(source.parents.get(statement), ast.ClassDef)
    return any(
        (isinstance(one, ast.Attribute) and one.attr == name)
        or (in_class and isinstance(one, ast.Name) and one.id == name)
        for one in targets(statement)
    )


def default_of(source: Source, argument: ast.arg) -> ast.expr | None:
    """The value that an argument has where nothing is given for it."""
    listed = source.parents.get(argument)
    if not isinstance(listed, ast.arguments):
        return None
    plain = [*listed.posonlyargs, *listed.args]
    if argument in plain:
        at = plain.index(argument) - len(plain) + len(listed.defaults)
        return listed.defaults[at] if at >= 0 else None
    if argument in listed.kwonlyargs:
        return listed.kw_defaults[listed.kwonlyargs.index(argument)]
    return None
