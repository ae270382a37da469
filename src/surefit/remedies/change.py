"""An edit that a rule builds itself, because no other operator does."""

from dataclasses import dataclass

from surefit.doctor.conditions.condition import Condition
from surefit.laws.case import Case
from surefit.source.patches import Edit


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Several changes that belong together, say."""

    to: Edit | None
    words: str
    must: Condition | None = None
    choice: bool = False

    def edit(self, case: Case) -> Edit | None:  # noqa: ARG002 - as every remedy
        return self.to
