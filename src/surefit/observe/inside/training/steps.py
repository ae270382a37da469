"""What this process trains, put together: written every few seconds and at the end."""

import time

from surefit.doctor.observations import Steps
from surefit.observe.inside import finishing, spool
from surefit.observe.inside.spool import guarded
from surefit.observe.inside.training import (  # noqa: F401 - registers its patches
    backward,
    beside,
    budget,
    clearing,
    divergences,
    forwards,
    inputs,
    labels,
    losses,
    optimizers,
    periodic,
    readable,
    roots,
    scaler,
    stepping,
    unheld,
    vocabularies,
)
from surefit.observe.inside.training.letters import noted
from surefit.observe.inside.training.under_way import now

_written_at = -1


def taken() -> int:
    """Steps of all optimizers so far."""
    return noted.steps


def events() -> int:
    return noted.events


def mode() -> bool | None:
    """Whether the outermost module that is running, or ran last, is in training mode."""
    return now.training


@finishing.at_end
def finish() -> None:
    """Writes the final count, unless nothing happened since the last one."""
    if noted.events and noted.events != _written_at:
        _settle()
        write()


@guarded("parameters outside the optimizer")
def _settle() -> None:
    """What was left for later is looked at now."""
    with readable.looking():
        readable.read_waiting()
        held = unheld.held_by(optimizers.alive())
        unheld.judge(held)
        roots.look(held)


@periodic.every_few_seconds
@guarded("steps")
def write() -> None:
    global _written_at
    _written_at = noted.events
    spool.saw(_steps())


def _steps() -> Steps:
    losses_seen = backward.seen.losses
    losses_seen.sort_in()
    first = stepping.seen.first_at
    return Steps(
        spool.process(),
        noted.steps,
        time.perf_counter() - first if first else 0.0,
        stepping.seen.looked,
        dict(noted.cycles),
        losses_seen.pairs(),
        backward.seen.at,
        losses_seen.least,
        losses_seen.greatest,
        losses_seen.not_finite,
        backward.seen.count,
        optimizers.seen(),
        optimizers.parameters_seen(),
        unheld.found(),
        losses.seen(),
        roots.seen(),
        labels.seen(),
        scaler.skipped(),
        budget.spent(),
        inputs.seen(),
        tuple(backward.seen.differences),
        divergences.seen(),
        beside.seen(),
        vocabularies.seen(),
    )


@finishing.after_fork
def forget_parent() -> None:
    global _written_at
    _written_at = -1
