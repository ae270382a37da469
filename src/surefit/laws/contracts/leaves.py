"""What a write into a tensor needs: it is no leaf that requires grad, or nothing is recorded."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from surefit.doctor.findings import Place
from surefit.doctor.graph_stories import Stood
from surefit.doctor.violations import Expression, Operand, Violation
from surefit.doctor.words import code
from surefit.laws.case import Case
from surefit.laws.training.grad_switches import switch_of
from surefit.source.in_place import written_text


@dataclass(frozen=True, slots=True)
class LeafState:
    """What torch says of a tensor."""

    probe: ClassVar[str] = "leaf"

    leaf: bool
    """It is one, and requires grad."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeafWritten(Violation):
    """`use` is the whole statement."""

    leaf: Operand


def violations_of(case: Case) -> Iterator[Violation]:
    crash, own = case.crash, case.own
    source = case.source(own.place) if own is not None else None
    if crash is None or own is None or crash.in_backward or source is None:
        return
    statement = source.statement_at(own.place.line) if own.place.line else None
    if statement is None or hasattr(statement, "body"):
        return
    text = written_text(source, statement)
    value = crash.value(text) if text else None
    if text is None or value is None or not value.requires_grad or is_switched_off(case):
        return
    number = crash.frames.index(own)
    state = case.ask(LeafState, frame=number, text=text)
    if state is not None and state.leaf:
        whole = " ".join(source.segment(statement).split())
        place = Place(source.file, statement.lineno, statement.end_lineno)
        use = Expression(place, source.span(statement), whole)
        yield LeafWritten(use=use, leaf=Operand(value=value, name=code(text), frame=number))


def is_switched_off(case: Case) -> bool:
    """Then the line failed for another reason."""
    frames = [frame for frame in case.crash.frames if frame.own] if case.crash else []
    stack = [Stood(frame.place.file, frame.place.line or 0, frame.function) for frame in frames]
    return switch_of(case.recording, stack) is not None
