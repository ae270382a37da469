"""Modules with parameters that are part of no other: models, as their scripts see them."""

from dataclasses import dataclass, field
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.observations import RootSeen
from surefit.observe.inside import finishing, origins
from surefit.observe.inside.identity import identity
from surefit.observe.inside.training import beside, calls, hanging, readable
from surefit.observe.inside.training.calls import Calls
from surefit.observe.inside.training.hanging import Hanging

MOST = 64


@dataclass(slots=True)
class Root:
    """What was last known of a root; it stays when the module is gone."""

    kind: str
    made_at: Place | None
    serial: int
    parameters: int
    tensors: int
    held: int = 0
    holding: int = 0
    """Of its parameters, those that some optimizer held at the last look."""
    calls: list[Calls] = field(default_factory=list)
    """Of itself and of its parts."""
    top: Calls | None = None
    """Of itself."""


@dataclass(frozen=True, slots=True)
class Named:
    """How a parameter is called, seen from its root. Not to be kept: it holds the parameter."""

    name: str
    layer: str
    registered: bool
    root: int
    """Serial of the root."""
    tensor: Any


_roots: dict[int, Root] = {}


def tops() -> list[tuple[Any, list[Hanging]]]:
    """Every root that exists now with its parameters: those that were called before others, large
    before small."""
    kind = readable.torch().nn.Module
    known = {identity(module): module for module in [*origins.alive(kind), *calls.alive()]}
    inside = {identity(child) for module in known.values() for child in hanging.children(module)}
    found = [
        (module, list(hanging.parameters(module)))
        for key, module in known.items()
        if key not in inside
    ]
    found = [(module, parameters) for module, parameters in found if parameters]
    return sorted(found, key=lambda one: (calls.known(one[0]) is None, -_elements(one[1])))


def look(held: frozenset[int] | None = None) -> dict[int, Named]:
    """Notes all roots; gives every parameter, by its id, the name that it has in one of them."""
    names: dict[int, Named] = {}
    for module, found in tops():
        own = hanging.unwrapped(module)
        serial = origins.number(own)
        for one in found:
            named = Named(one.name, one.layer, one.registered, serial, one.parameter)
            names.setdefault(identity(one.parameter), named)
        if len(_roots) < MOST or serial in _roots:
            _note(module, own, serial, found, held)
    return names


def _note(
    module: Any, own: Any, serial: int, found: list[Hanging], held: frozenset[int] | None
) -> None:
    root = _roots.get(serial)
    if root is None:
        root = Root(type(own).__name__, origins.made_at(own), serial, 0, 0)
        _roots[serial] = root
    root.parameters = _elements(found)
    root.tensors = len(found)
    if held is not None:
        now = sum(identity(one.parameter) in held for one in found)
        beside.note(module, found, held, was_held=root.holding > 0)
        root.held, root.holding = max(root.held, now), now
    root.top = calls.known(module) or root.top
    counted = [calls.known(part) for part in beside.parts(module)]
    fresh = [one for one in counted if one is not None and one not in root.calls]
    root.calls += fresh


def _elements(found: list[Hanging]) -> int:
    lazy = "Uninitialized"
    kept = [one.parameter for one in found if not type(one.parameter).__name__.startswith(lazy)]
    return sum(int(parameter.numel()) for parameter in kept)


def seen() -> tuple[RootSeen, ...]:
    """In the order they were made."""
    found = [
        RootSeen(
            root.kind,
            root.made_at,
            root.serial,
            root.parameters,
            sum(one.training for one in root.calls),
            sum(one.evaluating for one in root.calls),
            next((one.called_at for one in root.calls if one.called_at is not None), None),
            root.tensors,
            root.held,
            root.top.nested if root.top is not None else 0,
            next((one.width for one in root.calls if one.width), None),
            beside.sites(root.calls),
        )
        for root in _roots.values()
    ]
    return tuple(sorted(found, key=lambda root: root.serial))


@finishing.after_fork
def forget_parent() -> None:
    _roots.clear()
