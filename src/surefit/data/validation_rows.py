"""Rows to validate on that come from a source of their own: training sees no twin of them."""

from collections.abc import Callable, Sequence

from surefit.doctor.findings import Fact, Finding, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput

from .duplicates import groups
from .made import Chosen, Made
from .row import Row
from .split import Split

ALL_VALIDATED_ON = refusal(
    "SF140", "all-rows-validated-on", "Every row to train on is among the rows to validate on."
)


def split_off(
    rows: Sequence[Row],
    validation: Sequence[Row],
    source: str,
    each: Callable[[int], object] = lambda _: None,
) -> Split:
    """All of `validation` is held out, and of `rows` those are left out that have a twin there.

    `each` is told how many rows were searched for twins since it was last called.
    """
    import numpy as np

    first = len(rows)
    both = Made(
        first + len(validation),
        lambda at: rows[at] if at < first else validation[at - first],
    )
    twins = groups(both, each)
    is_left = np.ones(first, dtype=bool)
    for group in twins:
        if group[-1] >= first:  # in the order of their places
            is_left[[at for at in group if at < first]] = False
    if not is_left.any():
        raise BadInput(_all_validated_on(rows, validation, source))
    return Split(
        train=Chosen(rows, np.flatnonzero(is_left)),
        held_out=Chosen(validation, np.arange(len(validation))),
        wanted=len(validation),
        leaks_avoided=int(first - is_left.sum()),
        groups=tuple(tuple(both[at].number for at in group) for group in twins),
    )


def _all_validated_on(rows: Sequence[Row], validation: Sequence[Row], source: str) -> Finding:
    return ALL_VALIDATED_ON.finding(
        Place(source),
        f"No training rows are left: all {len(rows):,} duplicate rows in `{source}`.",
        facts=[Fact("rows to validate on", str(len(validation)))],
        why="A score on training rows measures memorisation.",
        fixes=[
            Fix("Give `--eval-data` other rows, or leave it out: `--held-out 0.1` splits some off.")
        ],
    )
