"""What is called the best possible loss is that of one who tries every way a row could go."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surefit.data.features.drifts import KEPT, Drifts
from surefit.data.features.layout import Kind
from surefit.data.features.make import Source
from surefit.data.features.markov import CHANCES, Chain, Flags, Ids
from surefit.data.features.switches import AT_FIRST, OFF, ON, STAYS, Switches

STATES, STEPS = 5, 4


def by_trying_all(chances: np.ndarray, first: np.ndarray, row: Ids, masked: Flags) -> list[float]:
    """Of each masked step of a row, the chance of what stands there, given all that is shown."""
    likely: dict[tuple[int, ...], float] = {}
    for way in itertools.product(range(len(chances)), repeat=len(row)):
        if all(masked[at] or way[at] == row[at] for at in range(len(row))):
            steps = [chances[a, b] for a, b in itertools.pairwise(way)]
            likely[way] = float(first[way[0]] * np.prod(steps))
    whole = sum(likely.values())
    return [
        sum(chance for way, chance in likely.items() if way[at] == row[at]) / whole
        for at in np.flatnonzero(masked)
    ]


masks = st.lists(st.booleans(), min_size=STEPS, max_size=STEPS).filter(any)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), masked=masks)
def test_the_loss_of_masked_states_is_that_of_trying_every_way(
    seed: int, masked: list[bool]
) -> None:
    chain = Chain.of(STATES, seed)
    states = chain.draw(1, STEPS, np.random.default_rng(seed))
    flags = np.array([masked])
    first = np.full(STATES, 1 / STATES)
    chances = by_trying_all(chain.matrix(), first, states[0], flags[0])
    assert chain.masked_loss(states, flags) == pytest.approx(-np.log(chances).mean())


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), masked=masks)
def test_the_loss_of_masked_switches_is_that_of_trying_every_way(
    seed: int, masked: list[bool]
) -> None:
    on = Switches(3).draw(1, STEPS, np.random.default_rng(seed))
    flags = np.array([masked])
    each = [
        by_trying_all(STAYS, AT_FIRST, on[0, :, feature].astype(np.int64), flags[0])
        for feature in range(3)
    ]
    assert Switches(3).masked_loss(on, flags) == pytest.approx(-np.log(each).mean())


@settings(max_examples=25, deadline=None)
@given(masked=st.lists(st.booleans(), min_size=6, max_size=6).filter(any), seed=st.integers(0, 99))
def test_the_loss_of_masked_drifts_is_that_of_the_conditional_mean(
    masked: list[bool], seed: int
) -> None:
    values = Drifts.of(4, seed).draw(1, 6, np.random.default_rng(seed))
    hidden = np.array(masked)
    apart = np.abs(np.subtract.outer(np.arange(6), np.arange(6)))
    covariance = KEPT**apart
    shown = ~hidden
    expected = np.zeros((int(hidden.sum()), 4))
    if shown.any():
        pull = covariance[np.ix_(hidden, shown)] @ np.linalg.inv(covariance[np.ix_(shown, shown)])
        expected = pull @ values[0][shown]
    error = float(((values[0][hidden] - expected) ** 2).mean())
    assert Drifts.of(4, seed).masked_loss(values, hidden[None]) == pytest.approx(error)


def test_next_steps_lose_the_entropy_of_their_source() -> None:
    numbers = np.random.default_rng(0)
    entropy = -sum(chance * np.log(chance) for chance in CHANCES)
    states = Chain.of(271, 0).draw(2000, 20, numbers)
    assert Chain.of(271, 0).next_step_loss(states) == pytest.approx(entropy, rel=0.02)
    on_entropy = -(ON * np.log(ON) + (1 - ON) * np.log(1 - ON))
    off_entropy = -(OFF * np.log(OFF) + (1 - OFF) * np.log(1 - OFF))
    switches = Switches(50)
    expected = AT_FIRST @ np.array([on_entropy, off_entropy])
    drawn = switches.draw(500, 20, numbers)
    assert switches.next_step_loss(drawn) == pytest.approx(expected, rel=0.02)
    drifts = Drifts.of(20, 0)
    assert drifts.next_step_loss(drifts.draw(500, 20, numbers)) == pytest.approx(
        1 - KEPT**2, rel=0.02
    )


@pytest.mark.parametrize("kind", list(Kind))
def test_rows_are_what_their_kind_says(kind: Kind) -> None:
    values = Source(steps=6, features=9, kind=kind, seed=3).draw(50, 0)
    assert values.shape == (50, 6, 9)
    assert values.dtype == np.float32
    assert np.isfinite(values).all()
    ones = (values == 1).sum(axis=2)
    if kind is Kind.ONE_HOT:
        assert (ones == 1).all()
    if kind is not Kind.CONTINUOUS:
        assert set(np.unique(values)) == {0.0, 1.0}
