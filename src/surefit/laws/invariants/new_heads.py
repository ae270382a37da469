"""A new head beside an adapter learns, and is saved with it."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Fact
from surefit.doctor.measures.weights_learn import AdapterHead, Adapters, AdapterSeen
from surefit.doctor.recording import Recording
from surefit.doctor.violations import Expression
from surefit.doctor.words import code, counted
from surefit.laws.case import Case
from surefit.laws.law import BrokenLaw, Law, MeasuredOn
from surefit.source.reading import called

LAW = Law("new_heads", "a new head beside an adapter learns, and is saved with it")
PROOF_STEPS = 3
SAVES = frozenset(("save", "save_file", "save_model", "save_checkpoint", "dump"))


@dataclass(frozen=True, slots=True, kw_only=True)
class OfHead(BrokenLaw):
    """What becomes of one head."""

    adapter: AdapterSeen
    head: AdapterHead


class HeadStaysFrozen(OfHead):
    """It has random weights, and nothing of it requires grad."""


class HeadNotSaved(OfHead):
    """It is trained, and the adapter is saved without it."""


def violations_of(case: Case) -> Iterator[BrokenLaw]:
    for measure in case.recording.of_first_rank(Adapters):
        for adapter in measure.adapters:
            for head in adapter.heads:
                if not head.trainable and not adapter.frozen:
                    yield frozen(case, adapter, head)
                elif head.saved_at is not None and not saves_by_hand(case.recording):
                    yield not_saved(adapter, head)


def frozen(case: Case, adapter: AdapterSeen, head: AdapterHead) -> HeadStaysFrozen:
    return HeadStaysFrozen(
        use=Expression(adapter.made_at or case.recording.main_script()),
        said=f"{code(head.name)} of {code(adapter.model)} was newly initialised and is frozen: none"
        f" of its {counted(head.parameters, 'parameter')} requires a gradient.",
        facts=facts(adapter, head),
        steps=adapter.step + PROOF_STEPS,
        fault=f"new head {head.name}",
        adapter=adapter,
        head=head,
    )


def not_saved(adapter: AdapterSeen, head: AdapterHead) -> HeadNotSaved:
    assert head.saved_at is not None
    return HeadNotSaved(
        use=Expression(head.saved_at),
        said=f"{code(head.name)} of {code(adapter.model)} is new and was trained, and the adapter"
        " is saved without it.",
        facts=facts(adapter, head),
        steps=head.saved_step + 1,
        fault=f"new head {head.name}",
        adapter=adapter,
        head=head,
    )


def facts(adapter: AdapterSeen, head: AdapterHead) -> tuple[Fact, ...]:
    return (
        Fact(code(head.name), f"{counted(head.parameters, 'parameter')}, not loaded from a file"),
        Fact("requires grad", "yes" if head.trainable else "no"),
        Fact("adapters on", ", ".join(map(code, adapter.adapted))),
    )


def saves_by_hand(recording: Recording) -> bool:
    """Something else is saved, too, which can hold the head."""
    return any(called(call) in SAVES for source, call in recording.every(ast.Call))


def watched(recording: Recording) -> MeasuredOn:
    adapters = [adapter for measure in recording.all(Adapters) for adapter in measure.adapters]
    if not adapters:
        return MeasuredOn(why_not="no adapter was trained")
    return MeasuredOn(on=counted(len(adapters), "adapter"))
