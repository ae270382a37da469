"""What a line that computes with `.grad` needs: a backward pass has reached the parameter."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from surefit.doctor.violations import Violation
from surefit.laws.case import Case, use_of


@dataclass(frozen=True, slots=True)
class Gradients:
    """What the parameters of the largest model in the user's frames have."""

    probe: ClassVar[str] = "missing-gradients"

    root: str
    """Its class; empty where source was only read."""
    present: int
    """Parameters with a gradient."""
    frozen: tuple[str, ...]
    unused: tuple[str, ...]
    """Names of those that require grad and have none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GradientIsNone(Violation):
    """The user's own line computes with a `.grad` that is None."""

    text: str
    """`parameter.grad`, as the line writes it."""
    gradients: Gradients


def violations_of(case: Case) -> Iterator[Violation]:
    own = case.own
    if own is None or case.crash is None or own is not case.crash.frames[-1]:
        return
    written = own.expression or own.line
    nothing = [value.text for value in own.values if value.kind == "NoneType"]
    missing = [text for text in nothing if text.endswith(".grad") and text in written]
    gradients = case.ask(Gradients) if missing else None
    if gradients is not None:
        yield GradientIsNone(use=use_of(own), text=missing[0], gradients=gradients)
