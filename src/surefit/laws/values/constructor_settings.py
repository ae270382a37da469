"""Settings by the signature of what was called: the user's arguments behind an attribute of a
library's object, passed by name or by position."""

import ast
from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.violations import Expression
from surefit.laws.case import Case
from surefit.source.installed import MOST_HOPS, Defined, base_of, find, methods
from surefit.source.reading import Source


@dataclass(frozen=True, slots=True)
class ConstructorSetting:
    """An argument that the user's script passes, and what stands behind its name."""

    passed: Expression
    """`steps_per_epoch=steps`."""
    computed: Expression
    """`len(rows) // 32`, where `steps` is assigned just once; otherwise the argument itself."""


def settings_behind(text: str, case: Case) -> tuple[ConstructorSetting, ...]:
    """What the innermost frame calls `self.total_steps` or `size`: the arguments of the only call
    of the user's that created this `self`, or that called this function."""
    known = only_call(case)
    if known is None:
        return ()
    source, call, function, bound = known
    listed = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    positions = {name: at for at, name in enumerate(listed[1:] if bound else listed)}
    names = [*positions, *(argument.arg for argument in function.args.kwonlyargs)]
    attribute = text.removeprefix("self.")
    if bound and attribute == text:
        return ()
    passed = {
        name: value
        for name in names
        if (value := source.argument(call, name, positions.get(name))) is not None
    }
    if attribute in passed:
        return (setting(case, source, attribute, passed[attribute]),)
    behind = names_behind(attribute, function) if bound else []
    return tuple(setting(case, source, name, passed[name]) for name in behind if name in passed)


def only_call(case: Case) -> tuple[Source, ast.Call, ast.FunctionDef, bool] | None:
    """With the function of the library whose arguments it passes, and whether that has a `self`."""
    innermost = case.frames[-1]
    owner, _, function = innermost.function.rpartition(".")
    itself = innermost.value("self")
    name = (itself.kind if itself is not None else owner) or function
    place = itself.made_at if itself is not None else None
    calls = [
        (source, call, full)
        for source in case.recording.sources()
        for full, calls in source.imported_calls.items()
        if full.rpartition(".")[2] == name
        for call in calls
        if place is None or is_at(place, source, call)
    ]
    found = find(calls[0][2]) if len(calls) == 1 else None
    taking = constructor_in(found) if found is not None else None
    if taking is None or found is None:
        return None
    return calls[0][0], calls[0][1], taking, isinstance(found.node, ast.ClassDef)


def is_at(place: Place, source: Source, call: ast.Call) -> bool:
    first = place.line or 0
    return place.file == source.file and first <= call.lineno <= (place.end_line or first)


def constructor_in(found: Defined) -> ast.FunctionDef | None:
    """Its `__init__`, or that of its base; a function itself."""
    definition: Defined | None = found
    for _ in range(MOST_HOPS):
        if definition is None or not isinstance(definition.node, ast.ClassDef):
            break
        inside = methods(definition.node, "__init__")
        if inside:
            return inside[0] if len(inside) == 1 else None
        bases = definition.node.bases
        definition = base_of(definition, bases[0]) if bases else None
    node = definition.node if definition is not None else None
    return node if isinstance(node, ast.FunctionDef) else None


def names_behind(attribute: str, function: ast.FunctionDef) -> list[str]:
    """`epochs` and `steps_per_epoch` for `self.total_steps = epochs * steps_per_epoch`."""
    values = [
        node.value
        for node in ast.walk(function)
        if isinstance(node, ast.Assign)
        and any(ast.unparse(target) == f"self.{attribute}" for target in node.targets)
    ]
    inside = (node for value in values for node in ast.walk(value))
    return list(dict.fromkeys(node.id for node in inside if isinstance(node, ast.Name)))


def setting(case: Case, source: Source, name: str, value: ast.expr) -> ConstructorSetting:
    passed = case.expression(source, value)
    named = Expression(passed.place, passed.span, f"{name}={passed.text}")
    behind = source.value_of(value)
    return ConstructorSetting(
        named, case.expression(source, behind) if behind is not value else passed
    )
