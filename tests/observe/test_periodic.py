"""When something is written in the course of a run."""

from collections.abc import Iterator

import pytest

from surefit.observe.inside.training import periodic


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """The times of writing."""
    periodic.forget_parent()
    times: list[float] = []
    monkeypatch.setattr(periodic, "_writers", [lambda: times.append(now[0])])
    yield times
    periodic.forget_parent()


now = [0.0]


def run(seconds: int) -> None:
    for second in range(seconds):
        now[0] = 1e9 + second
        if now[0] >= periodic.due:
            periodic.write(now[0])


def test_every_five_seconds_at_first(written: list[float]) -> None:
    run(26)
    assert [time - 1e9 for time in written] == [5, 10, 15, 20, 25]


def test_more_seldom_as_the_run_grows(written: list[float]) -> None:
    run(36_000)
    assert 100 < len(written) < 200
    assert written[-1] - written[-2] == pytest.approx(0.05 * 34_000, rel=0.2)


def test_at_some_steps_in_any_case(written: list[float]) -> None:
    for second in (0, 0.01, 0.02):
        now[0] = 1e9 + second
        periodic.write_early(now[0], always=True)
    assert len(written) == 3


def test_at_the_end_of_an_evaluation_but_not_at_each_of_many(written: list[float]) -> None:
    for second in range(36_000):
        now[0] = 1e9 + second
        periodic.write_early(now[0])
    assert 200 < len(written) < 1000
