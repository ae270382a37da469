"""A teacher that no training step calls, and the condition that keeps it out."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from surefit.doctor.observations import BesideSeen, Steps
from surefit.laws.losses.loss_sources import Entering, call_at, entering_loss, runs_a_model
from surefit.laws.losses.zero_terms import ZeroTerm, zero_terms
from surefit.laws.training.flags import Flag
from surefit.laws.training.gates import Gate, flags_in, gates, is_true, varies
from surefit.laws.training.made_names import names_of_made
from surefit.laws.training.teacher_names import calls_of, names_held
from surefit.laws.training.teachers import loss_at, trained_names
from surefit.source.constants import truth
from surefit.source.origins import origin
from surefit.source.reading import Source, called

MOST_SITES = 8
"""Calls of one model that an observation keeps."""


@dataclass(frozen=True, slots=True)
class Idle:
    """A teacher's call that enters the loss, the zero in its place, and what decided."""

    source: Source
    name: str
    call: ast.Call
    term: ZeroTerm
    gate: Gate


def named(one: BesideSeen, steps: Steps, source: Source) -> frozenset[str]:
    """What the source calls it, under all names that it hands it on by."""
    beside = [other.serial for other in steps.roots if other.made_at == one.made_at]
    name = names_of_made(source, one.made_at, beside).get(one.serial)
    return names_held(source, name) if name else frozenset()


def idle_in(
    source: Source, one: BesideSeen, names: frozenset[str], steps: Steps, command: Sequence[str]
) -> Idle | None:
    stop = runs_a_model(source, trained_names(steps, source) - names)
    entering = entering_loss(source, loss_at(steps, source), stop)
    calls = [call for call in calls_of(source, names) if call in entering]
    made = [call_at(source, site) for site in one.sites]
    if any(call is None or call in calls for call in made) or can_be_unseen(source, one, calls):
        return None  # run, or run at a place that is not known
    for call in calls:

        def feeds(value: ast.expr, call: ast.Call = call) -> bool:
            followed = Entering(source, stop)
            followed.follow(value)
            return call in followed.nodes

        term = next(zero_terms(source, entering, feeds), None)
        found = list(gates(source, call))
        gate = decider(source, found, command)
        if term is not None and gate is not None and not is_chosen(source, found, command):
            return Idle(source, sorted(names, key=len)[0], call, term, gate)
    return None


def can_be_unseen(source: Source, one: BesideSeen, calls: Sequence[ast.Call]) -> bool:
    """There are more lines than were kept, or calls of which nothing is seen: in a compiled graph,
    or by `forward` itself, where only its layers are."""
    compiled = any(called(call) == "compile" for call in source.every(ast.Call))
    ran = bool(one.training or one.evaluating)
    past_the_call = ran and any(called(call) == "forward" for call in calls)
    return compiled or len(one.sites) >= MOST_SITES or past_the_call


def decider(source: Source, found: Sequence[Gate], command: Sequence[str]) -> Gate | None:
    """The condition that is known to be closed; else the outermost, which was met first."""
    closed = [one for one in found if is_true(source, one.test, command) is (not one.wanted)]
    unknown = [one for one in found if is_true(source, one.test, command) is None]
    return next(iter([*closed, *reversed(unknown)]), None)


def is_chosen(source: Source, found: Sequence[Gate], command: Sequence[str]) -> bool:
    """Somebody gave a flag that decides, or it depends on how far the run is."""
    for gate in found:
        given = [flag for _, flag in flags_in(source, gate.test) if flag.is_given(command)]
        if any(not flag.is_fixed for flag in given) or varies(source, gate.test):
            return True
    return False


def fixed_flag(idle: Idle) -> Flag | None:
    found = flags_in(idle.source, idle.gate.test)
    return next((flag for _, flag in found if flag.is_fixed), None)


def switched_by(idle: Idle) -> ast.Constant | None:
    """The one constant, True or False, that the condition is."""
    test = idle.gate.test
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test = test.operand
    made = origin(idle.source, test) if truth(idle.source, test) is not None else None
    return made if isinstance(made, ast.Constant) else None
