"""How often modules were called from outside any other module, and in which mode."""

import weakref
from collections.abc import Callable
from typing import Any

from surefit.doctor.findings import Place
from surefit.observe.inside import finishing, own_code
from surefit.observe.inside.identity import identity
from surefit.observe.inside.training import hanging, readable

MOST, MOST_INSIDE = 8192, 4096
"""Modules that are told apart; so many of them parts of others."""


class Calls:
    """The calls of one module; kept as long as somebody counts them, the module itself is not."""

    __slots__ = ("alive", "called_at", "counts", "evaluating", "nested", "training")

    def __init__(self, module: Any, gone: Callable[[object], None] | None = None) -> None:
        self.alive: Callable[[], Any] = weakref.ref(module, gone)
        self.counts: bool | None = None
        """It has parameters; None until it is called from outside. Losses and activations have a
        mode that nobody sets."""
        self.called_at: Place | None = None
        self.training = 0
        self.evaluating = 0
        self.nested = 0
        """Calls from inside another module, at the few calls of that one that were looked into."""


_calls: dict[int, Calls] = {}


def of(module: Any) -> Calls:
    """For a call from outside."""
    found = _calls.get(identity(module))
    if found is None or found.alive() is not module:
        found = _new(module)
    if found.counts is None:
        with readable.looking():
            found.counts = hanging.has_parameters(module)
        found.called_at = own_code.own_place()
    return found


def inside(module: Any) -> None:
    """A call from inside another module."""
    found = known(module) or (_new(module) if len(_calls) < MOST_INSIDE else None)
    if found is not None:
        found.nested += 1


def _new(module: Any) -> Calls:
    if len(_calls) >= MOST:
        return Calls(module)
    key = identity(module)

    def gone(reference: object) -> None:
        found = _calls.get(key)
        if found is not None and found.alive is reference:
            del _calls[key]

    _calls[key] = Calls(module, gone)
    return _calls[key]


def known(module: Any) -> Calls | None:
    found = _calls.get(identity(module))
    return found if found is not None and found.alive() is module else None


def alive() -> list[Any]:
    """Every module that was called and still exists."""
    found = [calls.alive() for calls in list(_calls.values())]
    return [module for module in found if module is not None]


@finishing.after_fork
def forget_parent() -> None:
    _calls.clear()
