"""Around every step of an optimizer: the count, and at some of them a look at the values."""

import _thread
import os
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from types import FrameType, ModuleType
from typing import Any

from surefit.observe.inside import compiling, events, finishing, spool
from surefit.observe.inside.after_import import after_import
from surefit.observe.inside.events import backward_ended, step_begun, step_ended
from surefit.observe.inside.identity import identity
from surefit.observe.inside.spool import could_not
from surefit.observe.inside.training import (
    budget,
    letters,
    optimizers,
    periodic,
    readable,
    scaler,
    unheld,
    vocabularies,
)
from surefit.observe.inside.training.budget import Budget
from surefit.observe.inside.training.gradients import Held, Look
from surefit.observe.inside.training.letters import noted
from surefit.observe.inside.training.optimizers import Optimizer
from surefit.observe.inside.training.readable import looking
from surefit.observe.inside.unseen import hook

FIRST = 5
"""Steps of each optimizer at which all its tensors are looked at; powers of two follow."""
ROTATING = 8
"""Tensors that are looked at in any other step."""
EVERY, SELDOM = 256, 8
"""So many steps are all asked for rates and for the presence of gradients, then one in so many."""

values = Budget(share=0.005, opening=0.25)


@dataclass(slots=True, eq=False)
class Running:
    """A step that has begun."""

    optimizer: int
    known: Optimizer | None
    """None for a step inside another optimizer's step, and part of that."""
    closure: bool
    look: Look | None = None
    asked: bool = False


class Steps:
    """Steps that run, and when the first one was."""

    def __init__(self) -> None:
        self.running: list[Running] = []
        self.passes = 0
        """Backward passes that had ended at the last step."""
        self.looked = 0
        self.first_at = 0.0
        self.stop_after = spool.number(spool.STOP_AFTER)


seen = Steps()


@after_import("torch.optim.optimizer")
def steps(module: ModuleType) -> None:
    module.register_optimizer_step_pre_hook(hook(_before, module))
    module.register_optimizer_step_post_hook(hook(_after, module))


# Hooks of a step of a millisecond run with cold caches, where every call of a function costs about
# a microsecond: so these two make few.


def _before(optimizer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    if compiling.is_traced() or compiling.state._is_compiling_flag:
        return
    try:
        if seen.running:
            _forget_failed(optimizer)
        known = optimizers.of(optimizer) if not seen.running else None
        closure = (args[1] if len(args) > 1 else kwargs.get("closure")) is not None
        running = Running(identity(optimizer), known, closure)
        seen.running.append(running)
        if known is None:
            return
        step_begun.count += 1
        if step_begun.count >= step_begun.due:
            events.call(step_begun, optimizer)
        step = known.steps + 1
        if step <= EVERY or not step % SELDOM or values.unlimited:
            _ask(running, known, optimizer)
        if noted.now >= values.due:
            full = values.unlimited or step <= FIRST or not step & (step - 1)
            if values.allows(known.cost if full else 0.0):
                _look(running, known, optimizer, full)
    except Exception as error:  # noqa: BLE001 - the user's step is taken in any case
        could_not("optimizer steps", error)


def _after(optimizer: Any, _args: tuple[Any, ...], _kwargs: dict[str, Any]) -> None:
    if compiling.is_traced() or compiling.state._is_compiling_flag:
        return
    try:
        running = _ended(optimizer)
        known = running.known if running is not None else None
        if running is None or known is None:
            return
        if "found_inf" in optimizer.__dict__ and _left_out(optimizer):
            scaler.skip()
            return
        if running.closure and running.asked:
            _ask(running, known, optimizer)
        if running.look is not None:
            _complete(running.look, known, optimizer)
        known.steps += 1
        letters.stepped()
        known.last_step = step = noted.steps
        if known.without_gradient > known.told_empty:
            known.told_empty = known.without_gradient
            events.tell(events.stepped_empty, optimizer)
        step_ended.count += 1
        if step_ended.count >= step_ended.due:
            events.call(step_ended, optimizer)
        seen.passes = backward_ended.count
        outside = unheld.seen
        if step >= outside.look_at or outside.suspects or outside.made != outside.made_then:
            _look_outside(step)
        if noted.now >= periodic.due:
            periodic.write(noted.now)
        elif step in periodic.STEPS:
            periodic.write_early(noted.now, always=True)
        if step == 1:
            seen.first_at = time.perf_counter()
    except Exception as error:  # noqa: BLE001 - see above
        could_not("optimizer steps", error)
    if seen.stop_after is not None and noted.steps >= seen.stop_after:
        _came_to_the_goal()


def _ask(running: Running, known: Optimizer, optimizer: Any) -> None:
    """Before a step or, where a closure computes the gradients, also after it."""
    with looking():
        if not running.asked:
            optimizers.note_rates(known, optimizer)
        if running.asked or not running.closure:
            optimizers.note_presence(known, optimizer)
        running.asked = True


def _look(running: Running, known: Optimizer, optimizer: Any, full: bool) -> None:
    if not readable.can_look():
        return
    before = values.spent
    with values, looking():
        held = optimizers.tensors(optimizer)
        running.look = _chosen(known, held, full, running.closure)
        running.look.begin(held)
    if full:
        known.cost = values.spent - before


def _look_outside(step: int) -> None:
    if unheld.due(step) and values.allows() and readable.can_look():
        with values, looking():
            readable.read_waiting()
            unheld.look(step, optimizers.alive())
        vocabularies.look()


def _chosen(known: Optimizer, held: Held, full: bool, closure: bool) -> Look:
    optimizers.name_parameters(known, held)
    at = list(range(len(held)))
    if not full and len(held) > ROTATING:
        start = known.looks * ROTATING
        at = [place % len(held) for place in range(start, start + ROTATING)]
    known.looks += 1
    return Look([(place, known.parameters[place]) for place in at], known.looks, closure)


def _ended(optimizer: Any) -> Running | None:
    """The step that this is the end of; those begun inside it and not ended had failed."""
    key = identity(optimizer)
    while seen.running:
        running = seen.running.pop()
        if running.optimizer == key:
            return running
    return None


def _complete(look: Look, known: Optimizer, optimizer: Any) -> None:
    before = values.spent
    with values, looking():
        look.complete(optimizers.tensors(optimizer), optimizer.state)
    seen.looked += 1
    if len(look.chosen) == len(known.parameters):
        known.cost += values.spent - before


def _left_out(optimizer: Any) -> bool:
    """A fused step is told by the gradient scaler to do nothing; on a device that is read later."""
    with looking():
        found = optimizer.found_inf
        if found is None:
            return False
        if found.device.type == "cpu":
            return bool(found.item())
        readable.read(found.reshape(()), lambda value: scaler.count_skipped() if value else None)
        return False


def _forget_failed(optimizer: Any) -> None:
    """A step that raised was not ended. Those that still run have a frame on the stack."""
    own = next(
        (i for i, one in enumerate(seen.running) if one.optimizer == identity(optimizer)), None
    )
    if own is not None:
        del seen.running[own:]
    on_stack = set(_on_stack())
    seen.running = [one for one in seen.running if one.optimizer in on_stack]


def _on_stack() -> Iterator[int]:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename.endswith(("optim/optimizer.py", "optim\\optimizer.py")):
            yield identity(frame.f_locals.get("self"))
        frame = frame.f_back


def _came_to_the_goal() -> None:
    """The process ends here, or some seconds later where it is to go on."""
    seconds = spool.number(spool.GO_ON)
    if not seconds:
        stop()
        return
    seen.stop_after = None
    finishing.write_all()
    spool.came_to_the_goal()
    budget.limit()
    _thread.start_new_thread(_end_after, (seconds,))


def _end_after(seconds: int) -> None:
    """What came later is written as it comes: counts are of no use any more."""
    time.sleep(seconds)
    os._exit(0)


def stop() -> None:
    """In a proof or a check: all is written down, and nothing of the script runs any more."""
    finishing.finish()
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    os._exit(0)


@finishing.after_fork
def forget_parent() -> None:
    seen.__init__()  # type: ignore[misc]
