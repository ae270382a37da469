"""Dropouts that are active: as functions, whatever the mode of the model, or as layers that the
mode of the model does not reach."""

import sys
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.measures.modes import DropoutCall
from surefit.observe.inside import finishing, origins, own_code
from surefit.observe.inside.after_import import after_import
from surefit.observe.inside.measuring import layer_modes, phases
from surefit.observe.inside.training import readable
from surefit.observe.inside.training.under_way import now
from surefit.observe.inside.unseen import around

NAMES = ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout")
LAYERS = "torch.nn.modules.dropout"
MOST = 64
CALLER = 3
"""Frames between a function here and what called the dropout."""


@dataclass(slots=True, eq=False)
class Active:
    """From one line."""

    function: str
    place: Place | None
    layer: str
    registered: bool
    asked: bool
    rate: float
    made_at: Place | None
    times: int = 0


_active: dict[tuple[str, int, int], Active | None] = {}
"""By function, code and instruction, and id of the layer; None for what needs no word."""
drawn = [0]
"""How often functions drew since somebody has set this to zero."""


@after_import("torch.nn.functional")
def functions(module: ModuleType) -> None:
    for name in NAMES:
        if hasattr(module, name):
            setattr(module, name, watched(name, getattr(module, name)))


def watched(name: str, plain: Any) -> Any:
    def begin(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        if now.inside:
            training = args[2] if len(args) > 2 else kwargs.get("training", True)
            if training and now.training is not None:
                _note(name, args, kwargs)
        return False

    return around(plain, begin)


def _note(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    caller = sys._getframe(CALLER)
    is_layer = caller.f_globals.get("__name__") == LAYERS
    if not is_layer:
        drawn[0] += 1
    if now.training:
        return
    layer = caller.f_locals.get("self") if is_layer else None
    key = name, id(layer) if is_layer else id(caller.f_code), 0 if is_layer else caller.f_lasti
    if key not in _active and len(_active) < MOST:
        rate = args[1] if len(args) > 1 else kwargs.get("p", 0.5)
        _active[key] = _first(name, layer, rate, _asked(args, kwargs))
    active = _active.get(key)
    if active is not None:
        active.times += 1


def _asked(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """`True` was handed over; what only counts as true, as a method does, was not meant."""
    return (args[2] if len(args) > 2 else kwargs.get("training")) is True


def _first(name: str, layer: Any, rate: Any, asked: bool) -> Active | None:
    if type(rate) not in (int, float) or rate <= 0:
        return None
    site = phases.current[0] if phases.current else None
    root = site.module() if site is not None else None
    with readable.looking():
        registered = (
            layer is not None and root is not None and layer_modes.path_of(root, layer) is not None
        )
    return Active(
        name,
        own_code.own_place(),
        type(layer).__name__ if layer is not None else "",
        registered,
        asked and layer is None,
        float(rate),
        origins.made_at(layer) if layer is not None else None,
    )


def seen() -> tuple[DropoutCall, ...]:
    return tuple(
        DropoutCall(
            place=active.place,
            function=active.function,
            layer=active.layer,
            registered=active.registered,
            asked=active.asked,
            rate=active.rate,
            times=active.times,
            made_at=active.made_at,
        )
        for active in _active.values()
        if active is not None
    )


@finishing.after_fork
def forget_parent() -> None:
    _active.clear()
    drawn[0] = 0
