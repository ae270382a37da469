"""Every optimizer that stepped: its steps, its rates, whether its tensors had gradients."""

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.observations import OptimizerSeen, ParameterSeen
from surefit.observe.inside import events, finishing, origins
from surefit.observe.inside.identity import identity
from surefit.observe.inside.training import parameters, roots
from surefit.observe.inside.training.parameters import Parameter

MOST = 64
"""Optimizers that are told of; the steps of others are counted."""
MOST_PARAMETERS = 2048


@dataclass(slots=True, eq=False)
class Optimizer:
    """What one optimizer did; it stays when the optimizer is gone."""

    kind: str
    made_at: Place | None
    serial: int
    alive: Callable[[], Any]
    steps: int = 0
    last_step: int = 0
    """The number of its last step, among the steps of all."""
    looked: int = 0
    without_gradient: int = 0
    told_empty: int = 0
    """Of these steps without a gradient, those that listeners were told of."""
    first_rate: float = 0.0
    highest_rate: float = 0.0
    last_rate: float = 0.0
    parameters: list[Parameter] = field(default_factory=list)
    """In the order of its groups; empty until the first look."""
    looks: int = 0
    cost: float = 0.0
    """Seconds that a look at all its tensors took."""
    had_gradient: tuple[int, int] = 0, 0
    """Group and place of a tensor that had a gradient last time."""


_known: dict[int, Optimizer] = {}
"""Those that exist."""
_all: list[Optimizer] = []


def of(optimizer: Any) -> Optimizer:
    known = _known.get(identity(optimizer))
    if known is not None and known.alive() is optimizer:
        return known
    return _new(optimizer)


def _new(optimizer: Any) -> Optimizer:
    key = identity(optimizer)

    def gone(reference: object) -> None:
        found = _known.get(key)
        if found is not None and found.alive is reference:
            del _known[key]

    kind, made_at = type(optimizer).__name__, origins.made_at(optimizer)
    alive = weakref.ref(optimizer, gone)
    known = _known[key] = Optimizer(kind, made_at, origins.number(optimizer), alive)
    if len(_all) < MOST:
        _all.append(known)
    events.tell(events.optimizer_came, optimizer)
    return known


def alive() -> list[Any]:
    found = [known.alive() for known in list(_known.values())]
    return [optimizer for optimizer in found if optimizer is not None]


def tensors(optimizer: Any) -> list[tuple[Any, dict[str, Any]]]:
    """Each with the settings of its group."""
    return [(tensor, group) for group in optimizer.param_groups for tensor in group["params"]]


def note_rates(known: Optimizer, optimizer: Any) -> None:
    """The highest of its groups; rates that lie on a device are not waited for."""
    rate = 0.0
    for group in optimizer.param_groups:
        one = group.get("lr", 0.0)
        rate = max(rate, one if type(one) is float else _number(one))
    if not known.steps:
        set_to = [_number(group.get("initial_lr", 0.0)) for group in optimizer.param_groups]
        known.first_rate = max(set_to, default=0.0) or rate
    known.last_rate = rate
    if rate > known.highest_rate:
        known.highest_rate = rate


def _number(rate: Any) -> float:
    if type(rate) in (float, int):
        return float(rate)
    device = getattr(rate, "device", None)
    return float(rate) if device is not None and device.type == "cpu" else 0.0


def note_presence(known: Optimizer, optimizer: Any) -> None:
    """Whether any tensor has a gradient; the one that had it last time is asked first."""
    known.looked += 1
    group, place = known.had_gradient
    groups = optimizer.param_groups
    try:
        if groups[group]["params"][place].grad is not None:
            return
    except IndexError:  # groups were taken away
        pass
    for index, one in enumerate(groups):
        for at, tensor in enumerate(one["params"]):
            if tensor.grad is not None:
                known.had_gradient = index, at
                return
    known.without_gradient += 1


def name_parameters(known: Optimizer, held: Sequence[tuple[Any, dict[str, Any]]]) -> None:
    """Makes its list of parameters, again if tensors were added."""
    if len(known.parameters) == len(held):
        return
    names = roots.look()
    old = known.parameters
    for index, (tensor, _) in enumerate(held[len(old) :], start=len(old)):
        found = parameters.parameter(tensor, names.get(identity(tensor)), f"params[{index}]")
        found.held_by = known.serial
        parameters.holds(known.serial, tensor)
        old.append(found)


def seen() -> tuple[OptimizerSeen, ...]:
    return tuple(
        OptimizerSeen(
            one.kind,
            one.made_at,
            one.serial,
            len(one.parameters),
            one.steps,
            one.first_rate,
            one.highest_rate,
            one.without_gradient,
            one.looked,
            one.last_rate,
        )
        for one in _all
    )


def parameters_seen() -> tuple[ParameterSeen, ...]:
    found = [parameter for optimizer in _all for parameter in optimizer.parameters]
    return tuple(parameter.seen() for parameter in found[:MOST_PARAMETERS])


@finishing.after_fork
def forget_parent() -> None:
    _known.clear()
    _all.clear()
