"""Calls of `train()` and `eval()`: on which module, and from which line."""

from dataclasses import dataclass
from types import ModuleType
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.measures.modes import ModeSet
from surefit.observe.inside import finishing, origins, own_code
from surefit.observe.inside.after_import import after_import
from surefit.observe.inside.training.letters import noted
from surefit.observe.inside.unseen import around

MOST = 256


@dataclass(slots=True, eq=False)
class ModeSwitch:
    """From one line, on one module."""

    kind: str
    place: Place | None
    times: int = 0
    first_step: int = 0
    last_step: int = 0


_switches: dict[tuple[int, bool, str, int], ModeSwitch] = {}
_depth = [0]
count = [0]
"""How often a mode was set; each can change that of every layer."""


@after_import("torch.nn.modules.module")
def modes(module: ModuleType) -> None:
    module.Module.train = around(module.Module.train, _begin, _end)


def _begin(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    _depth[0] += 1
    if _depth[0] == 1:
        count[0] += 1
        mode = args[1] if len(args) > 1 else kwargs.get("mode", True)
        _note(args[0], bool(mode))
    return True


def _end(_args: tuple[Any, ...], _result: Any) -> None:
    _depth[0] -= 1


def _note(module: Any, training: bool) -> None:
    frame = own_code.own_frame(depth=4)
    place = own_code.place(frame) if frame is not None else None
    serial = origins.number(module)
    key = serial, training, place.file if place else "", (place.line or 0) if place else 0
    switch = _switches.get(key)
    if switch is None:
        switch = ModeSwitch(type(module).__name__, place, first_step=noted.steps)
        if len(_switches) < MOST:
            _switches[key] = switch
    switch.times += 1
    switch.last_step = noted.steps


def seen() -> tuple[ModeSet, ...]:
    return tuple(
        ModeSet(
            kind=switch.kind,
            serial=serial,
            path="",
            training=training,
            place=switch.place,
            times=switch.times,
            first_step=switch.first_step,
            last_step=switch.last_step,
        )
        for (serial, training, _, _), switch in _switches.items()
    )


@finishing.after_fork
def forget_parent() -> None:
    _switches.clear()
    _depth[0] = count[0] = 0
