"""What looking at values is allowed to take."""

import time

import pytest

from surefit.observe.inside.training.budget import Budget


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, to be set: of the day, and of this thread on a core."""
    now = [100.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(time, "thread_time", lambda: now[0])
    return now


def spend(budget: Budget, clock: list[float], seconds: float) -> None:
    with budget:
        clock[0] += seconds


def test_first_the_opening_then_a_share(clock: list[float]) -> None:
    budget = Budget(share=0.01, opening=0.5)
    assert budget.allows()
    spend(budget, clock, 0.6)
    assert not budget.allows()
    clock[0] += 9.0
    assert not budget.allows()  # 0.6 s spent, 0.596 s allowed
    clock[0] += 1.0
    assert budget.allows()


def test_something_that_would_take_too_long_waits(clock: list[float]) -> None:
    budget = Budget(share=0.01, opening=0.5)
    assert budget.allows(0.4)
    assert not budget.allows(0.6)
    clock[0] += 20.0
    assert budget.allows(0.6)


def test_a_proof_has_no_limit(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUREFIT_PROOF", "1")
    budget = Budget(share=0.0, opening=0.0)
    spend(budget, clock, 1e6)
    assert budget.allows(1e6)
    assert budget.spent == 1e6


def test_waiting_for_a_core_costs_nothing(
    clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "thread_time", lambda: 3.0)
    budget = Budget(share=0.01, opening=0.5)
    assert budget.allows()
    spend(budget, clock, 60.0)
    assert budget.spent == 0.0
    assert budget.allows()


def test_it_says_when_to_ask_again(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 1000.0 + clock[0])
    budget = Budget(share=0.01, opening=0.5)
    assert budget.allows()
    assert budget.due == 0.0
    spend(budget, clock, 0.52)
    assert not budget.allows()
    now = 1000.0 + clock[0]
    assert now < budget.due < now + 5.0
    clock[0] += budget.due - now + 0.01
    assert budget.allows()
