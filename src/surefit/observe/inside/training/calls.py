"""How often modules were called from outside any other module, and in which mode."""

import weakref
from collections.abc import Callable
from types import CodeType
from typing import Any

from surefit.doctor.findings import Place
from surefit.observe.inside import events, finishing, own_code
from surefit.observe.inside.identity import identity
from surefit.observe.inside.training import hanging, readable

MOST, MOST_INSIDE = 8192, 4096
"""Modules that are told apart; so many of them parts of others."""


class Site:
    """The user's line of a call; the code is kept, so that its id stays its own."""

    __slots__ = ("code", "idle", "place")

    def __init__(self, code: CodeType, place: Place) -> None:
        self.code = code
        self.place = place
        self.idle = False
        """The module could not learn by it: without gradients, frozen, or in evaluation mode."""


class Calls:
    """The calls of one module; kept as long as somebody counts them, the module itself is not."""

    __slots__ = (
        "alive",
        "called_at",
        "counts",
        "dropouts",
        "evaluating",
        "hidden",
        "hidden_training",
        "looked_idle",
        "nested",
        "norms",
        "rates",
        "sites",
        "still",
        "training",
        "unrecorded",
        "width",
    )

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
        self.hidden = 0
        """Of these, calls without gradients inside one with them; `hidden_training` in training
        mode."""
        self.hidden_training = 0
        self.unrecorded = 0
        """Of the calls from outside in training mode, those without gradients; `still` are those of
        the few looked into that had gradients while every parameter was frozen."""
        self.still = 0
        self.sites: dict[tuple[int, int], Site] = {}
        """By code and instruction. Calls by which it learns are asked for their line only at a
        few of them."""
        self.dropouts = self.norms = 0
        """Layers that were active at the last call looked at, with their `rates`; of calls by which
        it learns only until there is another."""
        self.looked_idle = False
        self.rates: tuple[float, ...] = ()
        self.width = 0
        """The last axis of what it gave back."""


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
        events.tell(events.model_came, module)
    return found


def inside(module: Any) -> Calls | None:
    """A call from inside another module."""
    found = known(module) or (_new(module) if len(_calls) < MOST_INSIDE else None)
    if found is not None:
        found.nested += 1
    return found


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
