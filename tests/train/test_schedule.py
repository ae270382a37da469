"""The learning rate rises over the warm-up and falls to nothing."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from surefit.train.schedule import linear_decay, share_of_highest


def rates(steps: int, warmup_share: float) -> list[float]:
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=2.0)
    schedule = linear_decay(optimizer, steps, warmup_share)
    used = []
    for _ in range(steps):
        used.append(float(schedule.get_last_lr()[0]))
        optimizer.step()
        schedule.step()
    assert schedule.get_last_lr() == [0.0] or warmup_share == 1
    return used


def test_without_warmup_it_falls_in_equal_steps() -> None:
    assert rates(4, 0) == pytest.approx([2.0, 1.5, 1.0, 0.5])


def test_with_warmup_it_rises_first() -> None:
    assert rates(8, 0.25) == pytest.approx([2 / 3, 4 / 3, 2, 5 / 3, 4 / 3, 1, 2 / 3, 1 / 3])


@given(steps=st.integers(1, 200), share=st.floats(0, 1))
def test_every_step_moves_and_none_by_more_than_asked(steps: int, share: float) -> None:
    used = rates(steps, share)
    assert all(0 < rate <= 2 for rate in used)
    top = used.index(max(used))
    assert used[:top] == sorted(used[:top])
    assert used[top:] == sorted(used[top:], reverse=True)
    assert round(steps * share) == steps or max(used) == 2


def test_after_the_run_there_is_nothing_left() -> None:
    assert share_of_highest(10, steps=10, warmup=0) == 0
    assert share_of_highest(11, steps=10, warmup=0) == 0
