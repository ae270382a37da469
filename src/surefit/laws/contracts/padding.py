"""What padding takes: a pad token of the tokenizer, and of a model that has to recognise it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from surefit.doctor.observations import Frame
from surefit.doctor.violations import Operand, Violation
from surefit.laws.case import Case, use_of

CLASSIFIES = "ForSequenceClassification"


@dataclass(frozen=True, slots=True)
class TokenizerState:
    """What a tokenizer has."""

    probe: ClassVar[str] = "tokenizer-state"

    pad: int | None
    eos: int | None
    eos_token: str | None
    size: int


@dataclass(frozen=True, slots=True)
class SingleRows:
    """The configuration of a model, the batch that it was given, and on a copy of the model whether
    each row gets the scores that it gets alone."""

    probe: ClassVar[str] = "single-rows"

    pad: int | None
    eos: int | list[int] | None
    rows: int
    padded: int
    used: int | None
    ids: list[int] = field(default_factory=list)
    difference: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NoPadToken(Violation):
    """A tokenizer was asked to pad, and has no pad token."""

    tokenizer: Operand
    state: TokenizerState
    texts: int = 0
    """How many texts it was given, where that is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownPadding(Violation):
    """A classifier scores the last token that is no padding, and does not know which is."""

    model: Operand
    frame: int
    state: SingleRows


def violations_of(case: Case) -> Iterator[Violation]:
    if case.own is None or case.own is case.frames[-1]:
        return
    last = case.frames[-1]
    if "tokenization" in last.place.file:
        yield from in_tokenizer(case, last, case.own)
    elif last.layer is not None and CLASSIFIES in last.layer.kind + last.function:
        yield from in_model(case, last, case.own)


def in_tokenizer(case: Case, last: Frame, own: Frame) -> Iterator[Violation]:
    tokenizer = last.value("self")
    if tokenizer is None or not any(value.text.startswith("padding") for value in last.values):
        return
    at = len(case.frames) - 1
    state = case.ask(TokenizerState, frame=at, text="self")
    if state is None or state.pad is not None:
        return
    texts = [value.length for value in own.values if value.kind == "list" and value.length]
    yield NoPadToken(
        use=use_of(own),
        tokenizer=Operand(value=tokenizer, name="`tokenizer`", frame=at),
        state=state,
        texts=texts[0] if len(texts) == 1 else 0,
    )


def in_model(case: Case, last: Frame, own: Frame) -> Iterator[Violation]:
    at = len(case.frames) - 1
    state = case.ask(SingleRows, frame=at)
    if state is None or state.pad is not None or state.rows < 2:
        return
    kind = last.layer.kind if last.layer is not None else ""
    named = [
        Operand(value=value, name=f"`{value.text}`", frame=number)
        for number, frame in enumerate(case.frames)
        for value in frame.values
        if (frame.own or frame is last) and value.kind == kind
    ]
    if named:
        yield UnknownPadding(use=use_of(own), model=named[0], frame=at, state=state)
