"""Which violations are certain while a run goes on, and which in a run that was cut short."""

from dataclasses import dataclass, replace

import pytest

from surefit.doctor.findings import Place
from surefit.doctor.violations import Expression
from surefit.laws.lasting import is_certain_now, shows_in_a_part
from surefit.laws.law import BrokenLaw, Law


@dataclass(frozen=True, slots=True, kw_only=True)
class NoStepTaken(BrokenLaw):
    """As the law on gradients has it."""


PLAIN = BrokenLaw(
    use=Expression(Place("a.py", 1)), law=Law("saving", "it is so"), said="It is not."
)
NEVER = NoStepTaken(use=PLAIN.use, law=PLAIN.law, said="No step.")


@pytest.mark.parametrize(
    ("violation", "in_a_part", "now"),
    [
        (PLAIN, True, True),
        (replace(PLAIN, lasting=False), False, False),
        (replace(PLAIN, law=Law("weights_learn", "they learn")), True, False),
        (replace(PLAIN, law=Law("learning_rate", "it fits")), False, False),
        (NEVER, False, False),
    ],
)
def test_what_is_certain(violation: BrokenLaw, in_a_part: bool, now: bool) -> None:
    assert (shows_in_a_part(violation), is_certain_now(violation)) == (in_a_part, now)
