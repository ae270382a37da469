"""What all remedies have, and an edit that a rule builds itself because no other operator does."""

from dataclasses import dataclass

from surefit.doctor.conditions.condition import Condition
from surefit.doctor.violations import Written
from surefit.laws.case import Case
from surefit.source.patches import Edit


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """See `surefit.laws.case.Remedy`."""

    must: Condition | None = None
    choice: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorAt(Operator):
    """Of one expression, with words of the rule."""

    at: Written | None
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Change(Operator):
    """Several changes that belong together, say."""

    to: Edit | None
    words: str

    def edit(self, case: Case) -> Edit | None:  # noqa: ARG002 - as every remedy
        return self.to
