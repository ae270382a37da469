"""Which backward passes each optimizer step uses, seen on the gradients of a few parameters.

Samples of `.grad` are taken before and after a backward pass and before a step, at the first steps
and for some steps from every power of two on. However gradients are cleared, it shows in them.
"""

import sys
from collections import Counter
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.measures.gradients import GradientClip, GradientUse, Lines
from surefit.observe.inside import events, finishing, origins, own_code, spool
from surefit.observe.inside.identity import identity
from surefit.observe.inside.measuring import clipped, loss_means
from surefit.observe.inside.measuring.ledgers import Ledger, ledger_of, numbers_of
from surefit.observe.inside.spool import guarded
from surefit.observe.inside.training import optimizers, periodic, readable, stepping
from surefit.observe.inside.training.budget import Budget
from surefit.observe.inside.training.letters import noted

FIRST = 32
"""Steps at which gradients are followed from the beginning on."""
WINDOW = 12
"""Steps for which they are, from every power of two on."""
MOST = 16
"""Optimizers that are followed."""
ONLY_MEASURES = 1e3
"""A bound from which on a clip serves to learn the norm; a scaler's factor can be part of it."""
SMALL_BOUND = 0.01
"""Share of a scaler's factor from which on a bound for clipping was meant for scaled gradients."""

time_for_it = Budget(share=0.003, opening=0.25)


class Use:
    """What was seen so far."""

    def __init__(self) -> None:
        self.ledgers: dict[int, Ledger] = {}
        self.active = False
        self.until = 0
        self.cleared_at: Counter[Place] = Counter()
        self.clips = 0
        self.clipped_scaled = 0
        self.clipped_late = 0
        self.clipped_at = -1
        """Passes when gradients were last clipped in time."""
        self.wrong_clip: GradientClip | None = None
        self.clipped_spent = 0
        self.clipped_none = 0
        self.idle_clip: GradientClip | None = None
        self.dropped_at = 0
        """Passes when gradients that no step had used were last cleared."""
        self.epoch_at = 0
        """Passes at the last end of a loader."""
        self.batches = 0
        """That loaders have given."""
        self.open_at = -1
        """Steps at the last epoch that ended with passes that no step had used."""
        self.epochs = 0
        self.dropped_epochs = 0
        self.dropped = 0
        self.in_epochs = 0
        self.trainer: tuple[int, Place | None, Place | None] | None = None
        """Batches of a step, `compute_loss` of the user's, and where it was created."""
        self.ended = False


seen = Use()


def passes() -> int:
    return events.backward_ended.count


def pending() -> int:
    """Passes since the last step."""
    return passes() - max(stepping.seen.passes, seen.dropped_at)


def is_open() -> bool:
    """The last epoch has ended with passes that no step has used."""
    return seen.open_at == noted.steps and pending() > 0


@events.on(events.backward_begun)
def before_the_pass(loss: Any) -> None:
    if not seen.active:
        events.backward_begun.rest(before_the_pass)
    elif _can_look():
        with time_for_it, readable.looking():
            loss_means.goes_back(loss)
            for ledger in seen.ledgers.values():
                ledger.before_pass()


@events.on(events.backward_ended)
def after_the_pass() -> None:
    if not seen.active:
        events.backward_ended.rest(after_the_pass)
    elif _can_look():
        place = own_code.own_place()
        with time_for_it, readable.looking():
            for ledger in seen.ledgers.values():
                ledger.after_pass(place, loss_means.seen.root, loss_means.seen.divided)


@events.on(events.gradients_cleared)
def are_cleared(_owner: Any) -> None:
    if is_open():
        _drop()
    if not seen.active:
        events.gradients_cleared.rest(are_cleared)
    else:
        place = own_code.own_place()
        if place is not None:
            seen.cleared_at[place] += 1


@events.on(events.gradients_clipped)
def are_clipped(_name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    bound: Any = args[1] if len(args) > 1 else kwargs.get("max_norm", kwargs.get("clip_value"))
    if type(bound) not in (float, int) or bound >= ONLY_MEASURES:
        return
    seen.clips += 1
    if pending() and _clips_nothing(args[0] if args else kwargs.get("parameters")):
        seen.idle_clip = GradientClip(bound=float(bound), place=own_code.own_place())
    scale = loss_means.scale() if "U" not in _since_the_pass() else 1.0
    late = not pending() and noted.steps > 0
    if scale > 1.0 and bound < SMALL_BOUND * scale and pending():
        seen.clipped_scaled += 1
        seen.wrong_clip = GradientClip(bound=float(bound), scale=scale, place=own_code.own_place())
    elif late and seen.clipped_at != passes():
        seen.clipped_late += 1
        seen.wrong_clip = GradientClip(bound=float(bound), place=own_code.own_place())
    elif not late:
        seen.clipped_at = passes()


def _clips_nothing(given: Any) -> bool:
    spent = clipped.is_spent(given)
    seen.clipped_spent += spent
    if spent:
        return True
    with readable.looking():
        empty = clipped.is_without_gradients(given)
    seen.clipped_none += empty
    return empty


def _since_the_pass() -> list[str]:
    letters = noted.since
    at = next((i for i in range(len(letters) - 1, -1, -1) if letters[i] == "B"), -1)
    return letters[at + 1 :]


@events.on(events.step_begun)
def before_the_step(optimizer: Any) -> None:
    ledger = seen.ledgers.get(identity(optimizer))
    if ledger is None or ledger.alive() is not optimizer:
        if len(seen.ledgers) >= MOST:
            return
        ledger = seen.ledgers[identity(optimizer)] = ledger_of(optimizer)
        ledger.known = optimizers.of(optimizer)
    if not seen.active:
        events.step_begun.rest(before_the_step)
    elif _can_look():
        running = stepping.seen.running
        with time_for_it, readable.looking():
            ledger.before_step(bool(running and running[-1].closure), seen.batches)


@events.on(events.optimizer_came)
def optimizer_came(_optimizer: Any) -> None:
    events.step_begun.wake(before_the_step)


@events.on(events.step_ended)
def after_the_step(optimizer: Any) -> None:
    ledger = seen.ledgers.get(identity(optimizer))
    if ledger is None:
        return
    step = noted.steps
    if not seen.active:
        if step > FIRST:
            events.step_ended.rest(after_the_step, events.before_power_of_two(step))
        begins = step <= FIRST or not step & (step - 1)
        if not (begins and time_for_it.allows()) or not readable.can_look():
            return
        events.step_ended.wake(after_the_step)
        _begin()
        seen.trainer = seen.trainer or _trainer()
        seen.until = max(FIRST, step + WINDOW)
        for other in seen.ledgers.values():
            other.begin_again()
    place = own_code.own_place()
    with time_for_it, readable.looking():
        ledger.after_step(optimizer, place)
    if step >= seen.until or not time_for_it.allows():
        seen.active = time_for_it.unlimited
        if not seen.active:
            loss_means.want(False)


def _begin() -> None:
    seen.active = True
    loss_means.want(True)
    events.backward_begun.wake(before_the_pass)
    events.backward_ended.wake(after_the_pass)
    events.gradients_cleared.wake(are_cleared)
    events.step_begun.wake(before_the_step)


def _can_look() -> bool:
    return readable.can_look()


@events.on(events.batch_came)
def comes_a_batch(_iterator: Any, batch: Any) -> None:
    seen.batches += batch is not None
    if batch is not None or passes() == seen.epoch_at:
        return
    seen.epochs += 1
    seen.in_epochs += passes() - seen.epoch_at
    seen.epoch_at = passes()
    seen.open_at = noted.steps if pending() else -1
    events.gradients_cleared.wake(are_cleared)


def _drop() -> None:
    seen.dropped_epochs += 1
    seen.dropped += pending()
    seen.dropped_at = passes()
    seen.open_at = -1


@finishing.at_end
def finish() -> None:
    seen.ended = True
    if is_open():
        _drop()
    write()


@periodic.every_few_seconds
@guarded("gradients of steps")
def write() -> None:
    if not passes():
        return
    groups, place, trainer_at = seen.trainer or (0, None, None)
    cleared_at = most_frequent(seen.cleared_at)
    used = [ledger.as_seen(cleared_at) for ledger in seen.ledgers.values()]
    spool.saw(
        GradientUse(
            process=spool.process(),
            steps=noted.steps,
            passes=passes(),
            cleared=events.gradients_cleared.count,
            scaled=loss_means.seen.scaler is not None,
            optimizers=(*used, *_never_stepped()),
            clips=seen.clips,
            clipped_scaled=seen.clipped_scaled,
            clipped_late=seen.clipped_late,
            wrong_clip=seen.wrong_clip,
            clipped_spent=seen.clipped_spent,
            clipped_none=seen.clipped_none,
            idle_clip=seen.idle_clip,
            epochs=seen.epochs,
            dropped_epochs=seen.dropped_epochs,
            dropped=seen.dropped,
            in_epochs=seen.in_epochs,
            trainer_groups=groups,
            trainer_at=trainer_at,
            compute_loss_at=place,
            ended=seen.ended,
        )
    )


def most_frequent(lines: Counter[Place]) -> Lines:
    return tuple(lines.most_common(4))


def _never_stepped() -> list[Any]:
    """Optimizers that exist while no step was taken."""
    if noted.steps or seen.ledgers:
        return []
    every = origins.alive(readable.torch().optim.Optimizer)
    return [ledger_of(optimizer).as_seen(()) for optimizer in every][:MOST]


def _trainer() -> tuple[int, Place | None, Place | None] | None:
    module = sys.modules.get("transformers.trainer")
    for trainer in origins.alive(module.Trainer) if module is not None else ():
        groups = numbers_of(vars(trainer).get("args"), "gradient_accumulation_steps")
        method = getattr(type(trainer), "compute_loss", None)
        code = getattr(method, "__code__", None)
        own = code is not None and own_code.own(code)
        place = Place(code.co_filename, code.co_firstlineno) if own and code else None
        return groups, place, origins.made_at(trainer)
    return None


@finishing.after_fork
def forget_parent() -> None:
    seen.__init__()  # type: ignore[misc]
