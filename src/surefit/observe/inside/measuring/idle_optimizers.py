"""Optimizers that never step while others do: whether their parameters learn all the same."""

import weakref
from dataclasses import dataclass, field
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.measures.idle_optimizers import IdleOptimizer, IdleOptimizers
from surefit.observe.inside import events, finishing, origins, spool
from surefit.observe.inside.identity import identity
from surefit.observe.inside.measuring.unstepped_weights import MOST_WATCHED, ComparedTensor, sample
from surefit.observe.inside.spool import guarded
from surefit.observe.inside.training import optimizers, periodic, readable
from surefit.observe.inside.training.letters import noted

FIRST = 8
"""Steps of all optimizers before the first look: each has had its turn by then. The next looks are
at powers of two, and then at multiples of `SELDOM`."""
SELDOM = 1024
MOST = 16


@dataclass(slots=True)
class UnsteppedOptimizer:
    """One that has not stepped yet; it holds no tensor of the user's."""

    kind: str
    made_at: Place | None
    tensors: int
    since: int
    """The step at which it was looked at first; `until`: last."""
    parameters: list[ComparedTensor] = field(default_factory=list)
    gradients: list[Any] = field(default_factory=list)
    """Samples, as they were at the last look."""
    fresh: int = 0
    """Looks at which a gradient was another than at the look before."""
    until: int = 0


class UnsteppedOptimizers:
    """All optimizers that have not stepped."""

    def __init__(self) -> None:
        self.idle: dict[int, UnsteppedOptimizer] = {}
        self.changed = False


seen = UnsteppedOptimizers()


@events.on(events.step_ended)
def stepped(_optimizer: Any) -> None:
    step = noted.steps
    if step < FIRST:
        events.step_ended.rest(stepped, FIRST - step - 1)
        return
    events.step_ended.rest(stepped, min(step, SELDOM - step % SELDOM) - 1)
    if readable.can_look():
        with readable.looking():
            look(step)


def look(step: int) -> None:
    stepping = optimizers.alive()
    busy = {identity(tensor) for optimizer in stepping for tensor in held_by(optimizer)}
    for optimizer in origins.alive(readable.torch().optim.Optimizer):
        serial = origins.number(optimizer)
        if any(optimizer is other for other in stepping):
            seen.changed |= seen.idle.pop(serial, None) is not None
            continue
        own = [tensor for tensor in held_by(optimizer) if learns(tensor)]
        if not own or any(identity(tensor) in busy for tensor in own):
            continue  # without gradients, or another one steps with them
        if serial in seen.idle:
            compare(seen.idle[serial], step)
        elif len(seen.idle) < MOST:
            seen.idle[serial] = first_look(optimizer, own, step)
        seen.changed = True


def held_by(optimizer: Any) -> list[Any]:
    groups = vars(optimizer).get("param_groups") or ()
    return [tensor for group in groups for tensor in group["params"]]


def learns(tensor: Any) -> bool:
    return bool(tensor.requires_grad) and tensor.grad is not None


def first_look(optimizer: Any, own: list[Any], step: int) -> UnsteppedOptimizer:
    tensors, kind = len(held_by(optimizer)), type(optimizer).__name__
    idle = UnsteppedOptimizer(kind, origins.made_at(optimizer), tensors, step, until=step)
    for tensor in own[:: max(1, len(own) // MOST_WATCHED)][:MOST_WATCHED]:
        before = sample(tensor)
        if before is not None:
            idle.parameters.append(ComparedTensor(weakref.ref(tensor), before))
            idle.gradients.append(sample(tensor.grad))
    return idle


def compare(idle: UnsteppedOptimizer, step: int) -> None:
    torch = readable.torch()
    fresh = False
    for at, watched in enumerate(idle.parameters):
        tensor = watched.alive()
        watched.compare()
        gradient = sample(tensor.grad) if tensor is not None and tensor.grad is not None else None
        before, idle.gradients[at] = idle.gradients[at], gradient
        if gradient is not None and before is not None and gradient.shape == before.shape:
            fresh |= not torch.equal(gradient, before)
    idle.fresh += fresh
    idle.until = step


@finishing.at_end
@periodic.every_few_seconds
@guarded("optimizers that never step")
def write() -> None:
    if seen.changed:
        seen.changed = False
        spool.saw(
            IdleOptimizers(
                process=spool.process(),
                optimizers=tuple(told(serial, idle) for serial, idle in seen.idle.items()),
            )
        )


def told(serial: int, idle: UnsteppedOptimizer) -> IdleOptimizer:
    return IdleOptimizer(
        serial=serial,
        kind=idle.kind,
        made_at=idle.made_at,
        tensors=idle.tensors,
        watched=len(idle.parameters),
        moved=sum(watched.moved for watched in idle.parameters),
        fresh=idle.fresh,
        since=idle.since,
        until=idle.until,
    )


@finishing.after_fork
def forget_parent() -> None:
    seen.__init__()  # type: ignore[misc]
