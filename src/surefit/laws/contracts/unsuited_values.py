"""What the values of a failing expression are, and what else they could be."""

from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.violations import Violation
from surefit.laws.case import Case, use_of
from surefit.laws.values.conversions import Conversion, conversions, taker
from surefit.laws.values.failing_values import failing_values


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsuitedValue(Violation):
    """A value in a form that what raised may not take; a trial decides."""

    conversion: Conversion


def violations_of(case: Case) -> Iterator[UnsuitedValue]:
    if case.own is None:
        return
    given_to = taker(case)
    for side in failing_values(case):
        for conversion in conversions(side, given_to):
            yield UnsuitedValue(use=use_of(case.own), conversion=conversion)
