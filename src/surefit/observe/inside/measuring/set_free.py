"""Which parameters were frozen when an optimizer was created, and require a gradient later."""

import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any

from surefit.doctor.measures.set_free import FreedParameter, SetFree
from surefit.observe.inside import events, finishing, origins, spool
from surefit.observe.inside.after_import import after_import
from surefit.observe.inside.identity import identity
from surefit.observe.inside.spool import guarded
from surefit.observe.inside.training import periodic, readable, unheld
from surefit.observe.inside.training.letters import noted
from surefit.observe.inside.unseen import around

EVERY, SELDOM = 8, 16
"""So many steps are all looked at, then one in so many."""
MOST = 1024
MOST_OPTIMIZERS = 16
"""After these, nothing is looked up any more when an optimizer is created."""


class Frozen:
    """Parameters that are frozen since an optimizer was created, and those that are not any
    more."""

    def __init__(self) -> None:
        self.watched: dict[int, tuple[Callable[[], Any], int]] = {}
        """Each with the serial of the optimizer."""
        self.freed: dict[int, FreedParameter] = {}
        self.optimizers: set[int] = set()
        self.changed = False


seen = Frozen()


@after_import("torch.optim.optimizer")
def creations(module: ModuleType) -> None:
    kind = module.Optimizer
    kind.add_param_group = around(kind.add_param_group, _is_given, _was_given)


def _is_given(args: tuple[Any, ...], _kwargs: dict[str, Any]) -> bool:
    """The first group comes with the creation."""
    serial = origins.serial(args[0])
    fresh = serial not in seen.optimizers and len(seen.optimizers) < MOST_OPTIMIZERS
    return bool(serial) and fresh


def _was_given(args: tuple[Any, ...], _result: Any) -> None:
    serial = origins.serial(args[0])
    seen.optimizers.add(serial)
    with readable.looking():
        for tensor in origins.alive(readable.torch().nn.Parameter):
            frozen = not tensor.requires_grad and tensor.is_floating_point()
            if frozen and len(seen.watched) < MOST:
                seen.watched[identity(tensor)] = weakref.ref(tensor), serial
    seen.changed = True
    events.step_ended.wake(stepped)


@events.on(events.step_ended)
def stepped(_optimizer: Any) -> None:
    step = noted.steps
    if not seen.watched:
        events.step_ended.rest(stepped)
        return
    if step > EVERY:
        events.step_ended.rest(stepped, SELDOM - step % SELDOM - 1)
        if step % SELDOM:
            return
    if not readable.can_look():
        return
    with readable.looking():
        freed = [key for key, (alive, _) in seen.watched.items() if _learns(alive())]
    for key in freed:
        alive, optimizer = seen.watched.pop(key)
        serial = origins.serial(alive())
        seen.freed[serial] = FreedParameter(serial=serial, optimizer=optimizer, by=step)
    if freed:
        seen.changed = True
        unheld.seen.look_at = min(unheld.seen.look_at, step)


def _learns(tensor: Any) -> bool:
    return tensor is not None and tensor.requires_grad and tensor.grad is not None


@finishing.at_end
@periodic.every_few_seconds
@guarded("parameters set free")
def write() -> None:
    if seen.changed:
        seen.changed = False
        freed = tuple(seen.freed.values())
        watched = len(seen.watched) + len(freed)
        spool.saw(SetFree(process=spool.process(), watched=watched, freed=freed))


@finishing.after_fork
def forget_parent() -> None:
    seen.__init__()  # type: ignore[misc]
