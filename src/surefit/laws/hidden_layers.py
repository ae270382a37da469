"""Layers that a module keeps in a plain list or dict, where `parameters()` does not find them."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.source.classes import named_class
from surefit.source.reading import Source, called, dotted

REGISTERS = ("add_module", "register_module", "register_parameter", "setattr")
OWN_WAYS = ("parameters", "named_parameters")
Shelf = ast.List | ast.ListComp | ast.Dict | ast.DictComp
Method = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Hidden:
    """A list or dict of layers that is an attribute of a module."""

    name: str
    """`self.layers`."""
    kind: str
    container: str
    """What would register them: `ModuleList`, `ModuleDict`, `ParameterList`, `ParameterDict`."""
    owner: ast.ClassDef
    statement: ast.stmt
    """That assigns the attribute."""
    value: ast.expr
    """What would have to be wrapped."""
    makers: tuple[ast.Call, ...]
    """Calls that make what is kept there."""

    @property
    def attribute(self) -> str:
        return self.name.rpartition(".")[2]


def hidden_at(source: Source, place: Place) -> Hidden | None:
    """The one list whose layers a line makes, itself or inside the `__init__` of their class."""
    statement = source.statement_at(place.line or 0)
    around = [*source.up(statement)] if statement else []
    shelves = [
        hidden
        for hidden in hidden_in(source)
        if any(
            covers(source, maker, place) or named_class(source, maker.func) in around
            for maker in hidden.makers
        )
    ]
    return shelves[0] if len(shelves) == 1 else None


def covers(source: Source, maker: ast.Call, place: Place) -> bool:
    statement = source.statement_of(maker)
    return statement.lineno <= (place.line or 0) <= (statement.end_lineno or statement.lineno)


def hidden_in(source: Source) -> Iterator[Hidden]:
    for owner in source.every(ast.ClassDef):
        if is_module_class(source, owner) and not has_own_ways(owner):
            for node in ast.walk(owner):
                if isinstance(node, ast.Assign):
                    yield from hidden_by(source, owner, node)


def hidden_by(source: Source, owner: ast.ClassDef, statement: ast.Assign) -> Iterator[Hidden]:
    """What one assignment to an attribute of `self` hides."""
    target = statement.targets[0]
    if not (isinstance(target, ast.Attribute) and dotted(target) == f"self.{target.attr}"):
        return
    scope = source.scope_of(statement)
    value = statement.value
    if isinstance(value, ast.Name):
        shelf, scopes, kept = shelf_of(source, value), scope, value.id
    else:
        shelf, scopes, kept = value, owner, dotted(target)
    if not isinstance(shelf, Shelf) or is_registered(scopes, kept):
        return
    makers = [*makers_in(source, shelf), *put_into(source, scopes, kept)]
    if makers:
        what = "Parameter" if all(called(maker) == "Parameter" for maker in makers) else "Module"
        is_dict = isinstance(shelf, ast.Dict | ast.DictComp)
        yield Hidden(
            dotted(target),
            "dict" if is_dict else "list",
            f"{what}{'Dict' if is_dict else 'List'}",
            owner,
            statement,
            value,
            tuple(makers),
        )


def shelf_of(source: Source, name: ast.Name) -> ast.expr | None:
    """The list or dict that a local name was first given."""
    assigned = source.assignments(name.id, source.scope_of(name))
    return assigned[0].value if len(assigned) == 1 else None


def makers_in(source: Source, shelf: ast.AST) -> Iterator[ast.Call]:
    """Layers that are members: not what they are made from in turn."""
    members: list[ast.expr | None] = []
    match shelf:
        case ast.List(elts=several) | ast.Dict(values=several):
            members = [*several]
        case ast.ListComp(elt=item) | ast.DictComp(value=item):
            members = [item]
    for member in members:
        if isinstance(member, ast.Call) and makes_module(source, member):
            yield member


def put_into(source: Source, scope: ast.AST, name: str) -> Iterator[ast.Call]:
    """Layers that `name.append(...)` and `name[key] = ...` add."""
    for node in ast.walk(scope):
        match node:
            case ast.Call(
                func=ast.Attribute(value=owner, attr="append"), args=[ast.Call() as item]
            ):
                if dotted(owner) == name and makes_module(source, item):
                    yield item
            case ast.Assign(targets=[ast.Subscript(value=owner)], value=ast.Call() as item):
                if dotted(owner) == name and makes_module(source, item):
                    yield item


def makes_module(source: Source, call: ast.Call) -> bool:
    full = source.imported(call.func)
    if full.startswith("torch.nn."):
        last = full.rpartition(".")[2]
        return last[:1].isupper() and ".functional." not in full
    defined = named_class(source, call.func)
    return defined is not None and is_module_class(source, defined)


def is_module_class(source: Source, node: ast.ClassDef) -> bool:
    for base in node.bases:
        if source.imported(base) in ("torch.nn.Module", "torch.nn.modules.module.Module"):
            return True
        below = named_class(source, base)
        if below is not None and below is not node and is_module_class(source, below):
            return True
    return False


def has_own_ways(owner: ast.ClassDef) -> bool:
    """It says itself what its parameters are, or registers by another way."""
    return any(
        (isinstance(node, Method) and node.name in OWN_WAYS)
        or (isinstance(node, ast.Call) and called(node) in REGISTERS)
        for node in ast.walk(owner)
    )


def is_registered(scope: ast.AST, name: str) -> bool:
    """It is given to a container as well: `nn.Sequential(*layers)`."""
    for node in ast.walk(scope):
        if isinstance(node, ast.Call) and called(node) in (
            *("Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict"),
            *("extend", "update"),
        ):
            for argument in node.args:
                inner = argument.value if isinstance(argument, ast.Starred) else argument
                if dotted(inner) == name:
                    return True
    return False


def is_used(source: Source, hidden: Hidden) -> bool:
    """A method beside `__init__` reads it, and nothing outside of the class does."""
    reads = [
        node
        for node in source.every(ast.Attribute)
        if node.attr == hidden.attribute and isinstance(node.ctx, ast.Load)
    ]
    inside = [node for node in reads if hidden.owner in source.up(node)]
    functions = {source.scope_of(node) for node in inside}
    named = {function.name for function in functions if isinstance(function, Method)} - {"__init__"}
    return bool(named) and len(inside) == len(reads)
