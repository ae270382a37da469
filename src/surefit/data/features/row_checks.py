"""What a sample of rows shows to be wrong: values that are not finite, rows of another kind."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from surefit.doctor.findings import Fact, Finding, Fix, Place
from surefit.doctor.rule import refusal

from .decode import Values
from .layout import Kind
from .probe import Probe, fits, not_finite, probe

NOT_FINITE = refusal("SF040", "value-not-finite", "A row holds NaN or an infinite number.")
OTHER_KIND = refusal(
    "SF041",
    "rows-of-other-kind",
    "Rows are not of the kind that was declared for them, or that is needed.",
)


def check_rows(
    name: str,
    positions: Sequence[int],
    rows: Values,
    found: Probe,
    declared: Kind | None,
    *,
    looked_at: int | None = None,
) -> Iterator[Finding]:
    """What rows of a shard show to be wrong; `looked_at` where the good ones were left out."""
    looked_at = looked_at or len(rows)
    if not found.finite:
        yield not_finite_rows(name, positions, rows, looked_at)
    elif declared and not fits(found.kind, declared):
        yield _other_kind(name, positions, rows, found, declared, looked_at)


def not_finite_rows(name: str, positions: Sequence[int], rows: Values, looked_at: int) -> Finding:
    places = not_finite(rows)
    bad = sorted({positions[row] for row, _, _ in places.tolist()})
    row, step, feature = places[0].tolist()
    several = f"rows {bad[0]:,} to {bad[-1]:,}" if len(bad) > 1 else f"row {bad[0]:,}"
    return NOT_FINITE.finding(
        Place(name),
        f"`{name}` holds {rows[row, step, feature]} in row {positions[row]:,}, step {step},"
        f" feature {feature} (from 0).",
        facts=(
            Fact("such rows", f"{len(bad)} of {looked_at:,} that were looked at: {several}"),
            Fact("such values", f"{len(places):,} of {rows[0].size * looked_at:,}"),
        ),
        why="One such value makes the loss, and after a step every weight, not a number.",
        fixes=(Fix("Fix or remove these rows where they are created."),),
    )


def _other_kind(
    name: str,
    positions: Sequence[int],
    rows: Values,
    found: Probe,
    declared: Kind,
    looked_at: int,
) -> Finding:
    wrong = [at for at, row in enumerate(rows) if not fits(probe(row[None]).kind, declared)]
    first, last = positions[wrong[0]], positions[wrong[-1]]
    where = f"row {first:,} (from 0)" if first == last else f"rows {first:,} to {last:,} (from 0)"
    return OTHER_KIND.finding(
        Place(name),
        f"`{name}` is declared {declared}, and {len(wrong)} of {looked_at:,} rows that were looked"
        f" at are not.",
        facts=(
            Fact("first of them", where),
            Fact("they are", f"{found.kind}, from {found.low:g} to {found.high:g}"),
            *_steps(rows[wrong[0]], first, declared),
        ),
        fixes=(
            Fix("If the declaration is right, these are other data: check how they are created."),
            Fix(f"If the data are right, declare them:  --kind {found.kind}"),
        ),
    )


def _steps(row: Values, number: int, declared: Kind) -> Iterable[Fact]:
    """The first step of a row that is not one-hot, in numbers."""
    if declared is not Kind.ONE_HOT:
        return
    for step, values in enumerate(row):
        ones = int(np.count_nonzero(values))
        if ones != 1 or values.max() != 1:
            said = f"{ones} values that are not 0, sum {values.sum(dtype=np.float64):g}"
            yield Fact(f"row {number:,}, step {step}", said)
            return
