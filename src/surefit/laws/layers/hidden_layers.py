"""Layers that a module keeps in a plain list or dict, where `parameters()` does not find them."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from surefit.doctor.findings import Place
from surefit.source.classes import named_class
from surefit.source.reading import Source, called, dotted

REGISTERS = ("add_module", "register_module", "register_parameter", "setattr")
OWN_WAYS = ("parameters", "named_parameters")
CONTAINERS = (
    *("Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict"),
    *("extend", "update"),
)
MODULES = ("torch.nn.Module", "torch.nn.modules.module.Module")
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


def hidden_at(source: Source, place: Place) -> Hidden | None:
    """The one list whose layers a line makes, itself or inside the `__init__` of their class."""
    line = place.line or 0
    statement = source.statement_at(line)
    around = [*source.up(statement)] if statement else []

    def makes(maker: ast.Call) -> bool:
        whole = source.statement_of(maker)
        covers = whole.lineno <= line <= (whole.end_lineno or whole.lineno)
        return covers or named_class(source, maker.func) in around

    shelves = [hidden for hidden in hidden_in(source) if any(map(makes, hidden.makers))]
    return shelves[0] if len(shelves) == 1 else None


def hidden_in(source: Source) -> Iterator[Hidden]:
    for owner in source.every(ast.ClassDef):
        if is_module_class(source, owner) and not has_own_ways(owner):
            for node in ast.walk(owner):
                hidden = hidden_by(source, owner, node) if isinstance(node, ast.Assign) else None
                if hidden is not None:
                    yield hidden


def hidden_by(source: Source, owner: ast.ClassDef, statement: ast.Assign) -> Hidden | None:
    """What one assignment to an attribute of `self` hides."""
    name, value = dotted(statement.targets[0]), statement.value
    if not name.startswith("self.") or name.count(".") != 1:
        return None
    scope: ast.AST = owner
    kept, shelf = name, cast("ast.expr | None", value)
    if isinstance(value, ast.Name):  # the list or dict that a local name was first given
        scope, kept = source.scope_of(statement), value.id
        assigned = source.assignments(value.id, source.scope_of(value))
        shelf = assigned[0].value if len(assigned) == 1 else None
    if not isinstance(shelf, Shelf) or is_registered(scope, kept):
        return None
    members = [item for item in kept_in(shelf, scope, kept) if isinstance(item, ast.Call)]
    makers = tuple(call for call in members if makes_module(source, call))
    if not makers:
        return None
    what = "Parameter" if all(called(maker) == "Parameter" for maker in makers) else "Module"
    kind = "dict" if isinstance(shelf, ast.Dict | ast.DictComp) else "list"
    return Hidden(name, kind, f"{what}{kind.title()}", owner, statement, value, makers)


def kept_in(shelf: Shelf, scope: ast.AST, name: str) -> Iterator[ast.expr | None]:
    """Members as they are written, and those that `name.append(...)` and `name[key] = ...` add."""
    match shelf:
        case ast.List(elts=several) | ast.Dict(values=several):
            yield from several
        case ast.ListComp(elt=item) | ast.DictComp(value=item):
            yield item
    for node in ast.walk(scope):
        match node:
            case (
                ast.Call(func=ast.Attribute(value=owner, attr="append"), args=[item])
                | ast.Assign(targets=[ast.Subscript(value=owner)], value=item)
            ) if dotted(owner) == name:
                yield item


def makes_module(source: Source, call: ast.Call) -> bool:
    full = source.imported(call.func)
    if full.startswith("torch.nn."):
        return full.rpartition(".")[2][:1].isupper() and ".functional." not in full
    defined = named_class(source, call.func)
    return defined is not None and is_module_class(source, defined)


def is_module_class(source: Source, node: ast.ClassDef) -> bool:
    for base in node.bases:
        below = named_class(source, base)
        if source.imported(base) in MODULES:
            return True
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
    calls = [node for node in ast.walk(scope) if isinstance(node, ast.Call)]
    handed = [node for call in calls if called(call) in CONTAINERS for node in call.args]
    return any(
        dotted(node.value if isinstance(node, ast.Starred) else node) == name for node in handed
    )


def is_used(source: Source, hidden: Hidden) -> bool:
    """A method beside `__init__` reads it, and nothing outside of the class does."""
    reads = [
        node
        for node in source.every(ast.Attribute)
        if node.attr == hidden.name.rpartition(".")[2] and isinstance(node.ctx, ast.Load)
    ]
    methods = {getattr(source.scope_of(node), "name", "__init__") for node in reads}
    return bool(methods - {"__init__"}) and all(hidden.owner in source.up(node) for node in reads)
