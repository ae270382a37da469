"""Two runs are one up to a fault if their losses are."""

import math

from hypothesis import given
from hypothesis import strategies as st

from surefit.doctor.observations import Process, Steps
from surefit.doctor.recording import Recording
from surefit.proof.losses import Compared, compared


def run(*losses: tuple[int, float], rank: int | None = None, pid: int = 1) -> Steps:
    return Steps(Process(pid, rank=rank), 9, 1.0, 9, {}, losses, backwards=9)


def seen(*steps: Steps) -> Recording:
    return Recording(list(steps))


def test_pairs_that_both_have() -> None:
    first, second = seen(run((0, 2.5), (1, 2.4), (7, 2.0))), seen(run((0, 2.5), (1, 2.4), (2, 9.0)))
    assert compared(first, second, None) == Compared(2, 3)


def test_only_losses_before_the_fault() -> None:
    first, second = seen(run((0, 2.5), (1, 2.4), (2, 2.3))), seen(run((0, 2.5), (1, 2.4), (2, 9.9)))
    assert compared(first, second, 2) == Compared(2, 2)
    assert compared(first, second, 3) == Compared(2, 3, (2, "2.3", "9.9"))
    assert compared(first, second, 0) == Compared(0, 0)


def test_the_last_bit_counts() -> None:
    nearly = math.nextafter(2.5, 3.0)
    assert compared(seen(run((0, 2.5))), seen(run((0, nearly))), None).differing == (
        0,
        "2.5",
        repr(nearly),
    )


def test_not_a_number_is_itself() -> None:
    assert compared(seen(run((0, math.nan))), seen(run((0, math.nan))), None) == Compared(1, 1)


def test_several_batches_make_a_step() -> None:
    first = seen(run((0, 2.5), (0, 2.6)))
    assert compared(first, seen(run((0, 2.5), (0, 2.6), (0, 2.7))), None) == Compared(2, 2)
    assert compared(first, seen(run((0, 2.5), (0, 2.7))), None).differing == (0, "2.6", "2.5")


def test_each_rank_has_its_own() -> None:
    first = seen(run((0, 1.0), rank=0, pid=1), run((0, 2.0), rank=1, pid=2))
    other_way = seen(run((0, 2.0), rank=1, pid=8), run((0, 1.0), rank=0, pid=9))
    assert compared(first, other_way, None) == Compared(2, 2)
    swapped = seen(run((0, 1.0), rank=1, pid=8), run((0, 2.0), rank=0, pid=9))
    assert compared(first, swapped, None).differing is not None


series = st.lists(st.tuples(st.integers(0, 20), st.floats(width=32)), max_size=20)


@given(series, st.integers(0, 21))
def test_a_run_equals_itself(losses: list[tuple[int, float]], before: int) -> None:
    found = compared(seen(run(*losses)), seen(run(*losses)), before)
    count = sum(step < before for step, _ in losses)
    assert found == Compared(count, count)
