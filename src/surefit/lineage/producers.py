"""Expressions of the user's that a value came through, as plain data."""

from dataclasses import dataclass

from surefit.doctor.findings import Fact, Place
from surefit.doctor.observations import Value
from surefit.source.spans import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Producer:
    """One evaluation of an expression."""

    serial: int
    place: Place
    span: Span | None = None
    text: str = ""
    kind: str = "call"
    value: Value

    def fact(self, name: str) -> Fact:
        return Fact(name, f"{self.place}  {self.text}")
