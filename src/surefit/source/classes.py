"""Classes of a file, their instances and methods: which function a call runs."""

import ast
from collections.abc import Iterator

from surefit.source.reading import MOST_NAMES, Source, dotted, targets
from surefit.source.remembered import remembered

Method = ast.FunctionDef | ast.AsyncFunctionDef

RETURNS_ITSELF = ("to", "cuda", "cpu", "half", "float", "double", "bfloat16", "train", "eval")
"""Methods of a module that give back the module."""
OF_THE_CLASS = ("__new__", "__init_subclass__", "__class_getitem__")
"""Methods whose first argument is the class, and no object of it."""


def function_called(source: Source, call: ast.Call) -> Method | None:
    """The function of this file that a call runs: a plain one, a method of a class in the file,
    or the `forward` of an instance that is called."""
    called = call.func
    if isinstance(called, ast.Name):
        bound = source.bound_by(called)
        if len(bound) == 1 and isinstance(bound[0], Method):
            return bound[0]
    if isinstance(called, ast.Attribute):
        owner = class_of(source, called.value)
        found = method(source, owner, called.attr) if owner else None
        if found:
            return found
    instance = class_of(source, called)
    return method(source, instance, "forward", "__call__") if instance else None


def class_of(source: Source, node: ast.expr, deep: int = 0) -> ast.ClassDef | None:
    """The class in this file that a value is an instance of: of `self`, or of a name or an
    attribute of `self` that is assigned just once, from a call of the class."""
    if isinstance(node, ast.Name) and is_self(source, node):
        return source.class_around(node)
    if isinstance(node, ast.Attribute):
        node = set_on_self(source, node) or node
    value = source.value_of(node)
    made = value.func if isinstance(value, ast.Call) else None
    if isinstance(made, ast.Attribute) and made.attr in RETURNS_ITSELF:
        # `model = model.to(device)` leads back to itself.
        return class_of(source, made.value, deep + 1) if deep < MOST_NAMES else None
    return named_class(source, made) if made else None


def named_class(source: Source, node: ast.expr) -> ast.ClassDef | None:
    found = source.bound_by(node) if isinstance(node, ast.Name) else []
    return found[0] if len(found) == 1 and isinstance(found[0], ast.ClassDef) else None


def is_self(source: Source, name: ast.Name) -> bool:
    """The first argument of a method."""
    bound = source.bound_by(name)
    function = source.parents.get(source.parents[bound[0]]) if len(bound) == 1 else None
    if not isinstance(function, Method) or not isinstance(source.parents[function], ast.ClassDef):
        return False
    if any(dotted(one) in ("staticmethod", "classmethod") for one in function.decorator_list):
        return False
    if function.name in OF_THE_CLASS:
        return False
    return next(iter([*function.args.posonlyargs, *function.args.args]), None) is bound[0]


def set_on_self(source: Source, node: ast.Attribute) -> ast.expr | None:
    """The value of `self.name`, if a single statement of the class sets it."""
    owner = class_of(source, node.value) if isinstance(node.value, ast.Name) else None
    values = set_in(source, owner).get(node.attr, ()) if owner is not None else ()
    return values[0] if len(values) == 1 else None


@remembered(otherwise={})
def set_in(source: Source, owner: ast.ClassDef) -> dict[str, list[ast.expr | None]]:
    """What a class gives its attributes; None for what is no plain assignment."""
    found: dict[str, list[ast.expr | None]] = {}
    for node in ast.walk(owner):
        if not isinstance(node, ast.Attribute) or isinstance(node.ctx, ast.Load):
            continue
        found.setdefault(node.attr, []).append(value_set(source, node))
    return found


def value_set(source: Source, target: ast.Attribute) -> ast.expr | None:
    """The right side that a target gets: its own part of `self.a, self.b = 1, 2`."""
    statement = source.statement_of(target)
    if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is None:
        return None
    every = (pairs(one, statement.value) for one in targets(statement))
    return next((value for one in every for part, value in one if part is target), None)


def pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What gets which value; of `self.x, self.y = x, y` one by one, where no star is among them."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        stars = any(isinstance(part, ast.Starred) for part in (*target.elts, *value.elts))
        if len(target.elts) == len(value.elts) and not stars:
            yield from zip(target.elts, value.elts, strict=True)
    else:
        yield target, value


def method(source: Source, owner: ast.ClassDef, *names: str) -> Method | None:
    """The first of these methods that a class has, or a class of this file that it is made from."""
    for name in names:
        for statement in owner.body:
            if isinstance(statement, Method) and statement.name == name:
                return statement
    for one in owner.bases:
        below = named_class(source, one)
        if below is not None and below is not owner:
            return method(source, below, *names)
    return None
