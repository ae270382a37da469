"""Ties of parameters: which layers share one, and which line of the user's parts them."""

import sys
import weakref
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.measures.parted_ties import PartedTie, PartedTies
from surefit.observe.inside import events, finishing, own_code, spool
from surefit.observe.inside.after_import import after_import
from surefit.observe.inside.identity import identity
from surefit.observe.inside.spool import guarded
from surefit.observe.inside.training import readable
from surefit.observe.inside.training.letters import noted

BETWEEN = frozenset(("_part", "_note", "_registered", "register_parameter", "__setattr__"))
"""Functions between an assignment and what is noted of it."""
MOST = 16
MOST_KNOWN = 20_000
MOST_COMPARED = 50_000_000


@dataclass(slots=True, eq=False)
class ParameterUse:
    """Where a parameter was registered first."""

    alive: Any
    module: Any
    name: str


@dataclass(slots=True, eq=False)
class SharedParameter:
    """A parameter of two layers."""

    alive: Any
    uses: list[tuple[Any, str]]
    place: Place | None


@dataclass(slots=True, eq=False)
class Parting:
    """What is left of a tie."""

    left: Any
    name: str
    old: Any
    tie: PartedTie


class Ties:
    """All so far."""

    def __init__(self) -> None:
        self.first: dict[int, ParameterUse] = {}
        self.shared: dict[int, SharedParameter] = {}
        self.parted: list[Parting] = []
        self.stayed: list[PartedTie] = []
        """Ties that were parted still when an optimizer stepped."""
        self.count = 0


seen = Ties()


@after_import("torch.nn.modules.module")
def modules(module: ModuleType) -> None:
    if hasattr(module, "register_module_parameter_registration_hook"):
        module.register_module_parameter_registration_hook(_registered)


def _registered(module: Any, name: str, parameter: Any) -> None:
    try:
        _note(module, name, parameter)
    except Exception as error:  # noqa: BLE001 - the user's layer is registered all the same
        spool.could_not("ties of parameters", error)


def _note(module: Any, name: str, parameter: Any) -> None:
    """Before it takes its place."""
    old = (vars(module).get("_parameters") or {}).get(name)
    if old is not None and old is not parameter and identity(old) in seen.shared:
        _part(module, name, old, parameter)
    if parameter is None or len(seen.first) >= MOST_KNOWN:
        return
    key = identity(parameter)
    known = seen.first.get(key)
    if known is None or known.alive() is not parameter:
        seen.first[key] = ParameterUse(weakref.ref(parameter), weakref.ref(module), name)
    elif known.module() is not module and known.module() is not None:
        shared = seen.shared.get(key)
        if shared is None or shared.alive() is not parameter:
            uses = [(known.module, known.name), (weakref.ref(module), name)]
            seen.shared[key] = SharedParameter(known.alive, uses, own_code.own_place())
            seen.count += 1


def _part(module: Any, name: str, old: Any, parameter: Any) -> None:
    shared = seen.shared[identity(old)]
    place = _assigned_at()
    if shared.alive() is not old or parameter is None or place is None or len(seen.parted) >= MOST:
        return
    others = [
        (other(), at)
        for other, at in shared.uses
        if other() is not None and other() is not module and _holds(other(), at, old)
    ]
    if others and not _is_a_copy(old, parameter):
        left, at = others[0]
        tie = PartedTie(
            replaced=f"{type(module).__name__}.{name}",
            left=f"{type(left).__name__}.{at}",
            place=place,
            tied_at=shared.place,
            step=noted.steps,
        )
        seen.parted.append(Parting(weakref.ref(left), at, weakref.ref(old), tie))
        events.step_ended.wake(stepped)


@events.on(events.step_ended)
def stepped(_optimizer: Any) -> None:
    """Where the other layer still has what both had."""
    events.step_ended.rest(stepped)
    for parting in seen.parted:
        old = parting.old()
        if old is not None and _holds(parting.left(), parting.name, old):
            seen.stayed.append(parting.tie)
    seen.parted.clear()


def _assigned_at() -> Place | None:
    """The user's own assignment; None where a library makes it, which ties again by itself."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_name in BETWEEN:
        frame = frame.f_back  # type: ignore[assignment]
    is_own = frame is not None and own_code.own(frame.f_code)
    return own_code.place(frame) if is_own else None


def _holds(module: Any, name: str, parameter: Any) -> bool:
    return module is not None and (vars(module).get("_parameters") or {}).get(name) is parameter


def _is_a_copy(old: Any, parameter: Any) -> bool:
    """Of the same values: the tie is given up on purpose. Another shape: nothing was to stay."""
    with readable.looking():
        if tuple(old.shape) != tuple(parameter.shape) or old.device.type == "meta":
            return True
        if parameter.device != old.device or old.numel() > MOST_COMPARED:
            return True
        return bool((old.detach() == parameter.detach()).all())


@finishing.at_end
@guarded("ties of parameters")
def write() -> None:
    if seen.count and noted.steps:
        stayed = tuple(seen.stayed)
        spool.saw(PartedTies(process=spool.process(), tied=seen.count, parted=stayed))


@finishing.after_fork
def forget_parent() -> None:
    seen.__init__()  # type: ignore[misc]
