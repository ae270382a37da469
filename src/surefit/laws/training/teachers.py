"""Models that are only asked, and whose answers enter the loss of another: teachers."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.measures.modes import Modes
from surefit.doctor.observations import BesideSeen, Steps
from surefit.doctor.recording import Recording
from surefit.laws.losses.loss_sources import Entering, Stop, call_at, entering_loss, runs_a_model
from surefit.source.origins import one_step_back
from surefit.source.reading import MOST_NAMES, Source, dotted

OF_THE_SAME = ("forward", "__call__")


@dataclass(frozen=True, slots=True)
class Teacher:
    """A model, and a call of it whose result can enter the loss."""

    source: Source
    call: ast.Call
    nodes: tuple[ast.expr, ...]
    """What it is called by, and what stands behind that: arguments and attributes, followed to the
    name that it was given when it was made."""

    @property
    def name(self) -> str:
        return dotted(self.nodes[0])

    @property
    def names(self) -> frozenset[str]:
        return frozenset(dotted(one) for one in self.nodes)


def teachers(one: BesideSeen, steps: Steps, seen: Recording) -> Iterator[Teacher]:
    """Calls of a model that the run made and that enter the loss, without a trained model between
    them; not of what is given the output of a trained model."""
    for site in one.sites:
        source = seen.source(site.place)
        call = call_at(source, site) if source else None
        if source is None or call is None:
            continue
        nodes = known_as(source, call)
        stop = runs_a_model(source, trained_names(steps, source) - {dotted(nodes[0])})
        if not dotted(nodes[0]) or not enters_a_loss(source, call, stop, steps, seen):
            continue
        if not is_given_answers(source, call, stop):
            yield Teacher(source, call, nodes)


def enters_a_loss(
    source: Source, call: ast.Call, stop: Stop, steps: Steps, seen: Recording
) -> bool:
    """That of any line that calls `backward`: what teaches can have been trained before."""
    places = [place for modes in seen.all(Modes) for place in modes.backward_at]
    own = [place for place in places if place.file == source.file]
    return any(
        call in entering_loss(source, place, stop) for place in (loss_at(steps, source), *own)
    )


def loss_at(steps: Steps, source: Source) -> Place | None:
    return steps.loss_at if steps.loss_at and steps.loss_at.file == source.file else None


def trained_names(steps: Steps, source: Source) -> frozenset[str]:
    """What the source calls models that an optimizer holds, where it runs them."""
    beside = {site for one in steps.beside for site in one.sites}
    sites = {site for root in steps.roots if root.held for site in root.sites} - beside
    calls = [call_at(source, site) for site in sites if site.place.file == source.file]
    return frozenset(dotted(call.func) for call in calls if call is not None) - {""}


def is_given_answers(source: Source, call: ast.Call, stop: Stop) -> bool:
    """A trained model's output goes in: this one judges it."""
    entering = Entering(source, stop)
    for one in (*call.args, *call.keywords):
        entering.follow(one)
    return any(isinstance(node, ast.Call) and stop(node) for node in entering.nodes)


def known_as(source: Source, call: ast.Call) -> tuple[ast.expr, ...]:
    """`teacher`, then what an argument or attribute of that name was given."""
    node = call.func
    if isinstance(node, ast.Attribute) and node.attr in OF_THE_SAME:
        node = node.value
    found = [node]
    for _ in range(MOST_NAMES):
        before = one_step_back(source, found[-1])
        if not isinstance(before, ast.Name | ast.Attribute) or before in found:
            break
        found.append(before)
    return tuple(found)
