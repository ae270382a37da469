"""Which expressions a value can come from, through the functions of the file that give it back."""

import ast

from surefit.source.classes import RETURNS_ITSELF, Method, class_of, function_called, method
from surefit.source.classes import named_class as named_class
from surefit.source.fields import member
from surefit.source.origins import one_step_back
from surefit.source.reading import MOST_NAMES, Source, dotted, targets
from surefit.source.remembered import remembered
from surefit.source.returns import gives_one_by_one, own_returns

Outcomes = tuple[ast.expr, ...]
NOT_KNOWN: Outcomes = ()


@remembered(otherwise=NOT_KNOWN)
def outcomes(source: Source, node: ast.expr) -> Outcomes:
    """Every expression that a value can come from: through names, both ways of `a if b else c`,
    parts of tuples, and `return`s of functions and `forward`s of this file.

    Those that no function of the file makes are the ends; empty where one way is not known.
    """
    before = one_step_back(source, node)
    if before is not None:
        return outcomes(source, before)
    if isinstance(node, ast.Name):
        return unpacked(source, node)
    if isinstance(node, ast.IfExp):
        return together([outcomes(source, node.body), outcomes(source, node.orelse)])
    if isinstance(node, ast.NamedExpr):
        return outcomes(source, node.value)
    if isinstance(node, ast.Subscript | ast.Attribute):
        return part(source, node)
    function = function_run(source, node) if isinstance(node, ast.Call) else None
    return returned(source, function) if function else (node,)


def together(ways: list[Outcomes]) -> Outcomes:
    known = bool(ways) and all(ways)
    return tuple(dict.fromkeys(one for way in ways for one in way)) if known else NOT_KNOWN


@remembered(otherwise=NOT_KNOWN)
def returned(source: Source, function: Method) -> Outcomes:
    """Of all `return`s of a function."""
    values = [one.value for one in own_returns(function)]
    if gives_one_by_one(function) or any(one is None for one in values):
        return NOT_KNOWN
    return together([outcomes(source, one) for one in values if one is not None])


def unpacked(source: Source, name: ast.Name) -> Outcomes:
    """Of `logits` in `logits, state = model(x)`, where that is all that sets it."""
    bound = source.bound_by(name)
    only = bound[0] if len(bound) == 1 else None
    target = targets(only)[0] if isinstance(only, ast.Assign) and len(only.targets) == 1 else None
    if not isinstance(only, ast.Assign) or not isinstance(target, ast.Tuple):
        return NOT_KNOWN
    names = [one.id if isinstance(one, ast.Name) else "" for one in target.elts]
    stars = any(isinstance(one, ast.Starred) for one in target.elts)
    if stars or names.count(name.id) != 1:
        return NOT_KNOWN
    whole = outcomes(source, only.value)
    return together([item(source, one, names.index(name.id), len(names)) for one in whole])


def item(source: Source, whole: ast.expr, number: int, of: int | None = None) -> Outcomes:
    """A part of a tuple that is written out."""
    if not isinstance(whole, ast.Tuple | ast.List) or number >= len(whole.elts):
        return NOT_KNOWN
    if any(isinstance(one, ast.Starred) for one in whole.elts):
        return NOT_KNOWN
    fits = of is None or of == len(whole.elts)
    return outcomes(source, whole.elts[number]) if fits else NOT_KNOWN


def part(source: Source, node: ast.Subscript | ast.Attribute) -> Outcomes:
    """Of `out[0]` a part of a tuple, of `out["logits"]` one of a dictionary, where those are what a
    function of the file gives back; of others the expression itself."""
    key = key_of(node)
    whole = outcomes(source, node.value) if key is not None else NOT_KNOWN
    if isinstance(key, int) and all(isinstance(one, ast.Tuple | ast.List) for one in whole):
        return together([item(source, one, key) for one in whole]) or (node,)
    found = [member(source, one, key) for one in whole] if isinstance(key, str) else []
    if found and all(found):
        return together([outcomes(source, one) for one in found if one]) or (node,)
    return (node,)


def key_of(node: ast.Subscript | ast.Attribute) -> int | str | None:
    if isinstance(node, ast.Attribute):
        return node.attr
    value = node.slice.value if isinstance(node.slice, ast.Constant) else None
    return value if isinstance(value, int | str) and not isinstance(value, bool) else None


def function_run(source: Source, call: ast.Call) -> Method | None:
    """The function of this file that a call runs, also of an object that came as an argument."""
    found = function_called(source, call)
    if found is None:
        called = call.func
        if isinstance(called, ast.Attribute):
            owner = own_class_of(source, called.value)
            found = method(source, owner, called.attr) if owner else None
        instance = own_class_of(source, called) if found is None else None
        found = method(source, instance, "forward", "__call__") if instance else found
    return None if found and can_be_another(source, call, found) else found


def can_be_another(source: Source, call: ast.Call, function: Method) -> bool:
    """`self.name(...)`, and a class of the file that is made from this one has a `name` of its own;
    or a decorator or a name that is set twice stands in between."""
    owner = source.parents[function]
    if not isinstance(owner, ast.ClassDef):
        return False
    of_self = isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name)
    heirs = [one for one in source.every(ast.ClassDef) if owner.name in map(dotted, one.bases)]
    return of_self and any(method(source, one, function.name) is not function for one in heirs)


def maker(source: Source, node: ast.expr, deep: int = 0) -> ast.Call | None:
    """The call that made an object: through names, `self.x`, `.to(device)`, and functions of the
    file that give it back."""
    found = outcomes(source, node)
    made = found[0] if len(found) == 1 else None
    if not isinstance(made, ast.Call) or deep > MOST_NAMES:
        return None
    if isinstance(made.func, ast.Attribute) and made.func.attr in RETURNS_ITSELF:
        return maker(source, made.func.value, deep + 1)
    return made


def own_class_of(source: Source, node: ast.expr) -> ast.ClassDef | None:
    """The class of this file that an object is of."""
    known = class_of(source, node)
    made = maker(source, node) if known is None else None
    return named_class(source, made.func) if made else known
