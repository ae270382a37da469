"""Which violations are certain before a run has come to its end."""

from surefit.laws.law import BrokenLaw

WHOLE_RUN = frozenset(
    (
        "learning_rate",
        "rows_as_planned",
        "LastGroupDropped",
        "NoStepTaken",
    )
)
"""Laws, and ways to break one, that speak of a run as a whole: of one that was cut short they say
nothing."""
NOT_YET = frozenset(("new_rows_learn", "weights_learn"))
"""Laws about what has not happened so far, and can still come: a second stage, a thaw."""


def shows_in_a_part(violation: BrokenLaw) -> bool:
    """It does not come from where the run was ended."""
    return violation.lasting and WHOLE_RUN.isdisjoint(names(violation))


def is_certain_now(violation: BrokenLaw) -> bool:
    """Nothing that the run does later can mend it."""
    return shows_in_a_part(violation) and NOT_YET.isdisjoint(names(violation))


def names(violation: BrokenLaw) -> set[str]:
    return {violation.law.name, *(kind.__name__ for kind in type(violation).__mro__)}
