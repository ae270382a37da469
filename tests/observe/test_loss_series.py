"""Which losses are kept of a long run."""

import itertools
import math

from surefit.observe.inside.training.loss_series import BETWEEN, FIRST, LAST, LossSeries


def series(count: int, keep_all: bool = False) -> LossSeries:
    found = LossSeries(keep_all)
    for step in range(count):
        found.add(step, float(step))
    return found


def test_a_short_run_is_kept_whole() -> None:
    assert series(FIRST + LAST + 10).pairs() == tuple((n, float(n)) for n in range(138))


def test_of_a_long_run_the_first_the_last_and_some_between() -> None:
    kept = [step for step, _ in series(100_000).pairs()]
    assert kept == sorted(set(kept))
    assert kept[:FIRST] == list(range(FIRST))
    assert kept[-LAST:] == list(range(100_000 - LAST, 100_000))
    between = kept[FIRST:-LAST]
    assert BETWEEN // 2 <= len(between) <= BETWEEN
    gaps = {later - earlier for earlier, later in itertools.pairwise(between)}
    assert len(gaps) == 1


def test_a_proof_keeps_ten_thousand() -> None:
    assert len(series(10_000, keep_all=True).pairs()) == 10_000
    assert len(series(30_000, keep_all=True).pairs()) < 10_500


def test_extremes_are_of_finite_values_only() -> None:
    found = LossSeries(keep_all=False)
    for value in (3.0, math.nan, 1.0, math.inf, 2.0, -math.inf):
        found.add(0, value)
    assert len(found.pairs()) == 6
    assert (found.least, found.greatest, found.not_finite) == (1.0, 3.0, 3)
