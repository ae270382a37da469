"""Steps and epochs of a run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefit.errors import WrongCall
from surefit.train.plan import Plan, StepRows


def plan(rows: int, max_steps: int | None = None) -> Plan:
    return Plan.of(rows=rows, step=StepRows(16, 4), epochs=3, max_steps=max_steps)


def test_the_sources_count() -> None:
    found = Plan.of(rows=2700, step=StepRows(4, 1), epochs=10, max_steps=None)
    assert (found.epoch_steps, found.steps, found.epochs) == (675, 6750, 10)


def test_accumulation_counts_steps_not_batches() -> None:
    found = plan(50)  # 13 batches, so 4 steps an epoch
    assert (found.epoch_steps, found.steps, found.epochs) == (4, 12, 3)
    groups = found.groups([[index] for index in range(13)], before=0)
    assert [len(group) for group in groups] == [4, 4, 4, 1]


def test_most_steps_end_the_last_epoch_early() -> None:
    short = plan(50, max_steps=6)
    order = [[index] for index in range(13)]
    assert short.epochs == 2
    assert [len(short.groups(order, 4 * epoch)) for epoch in range(short.epochs)] == [4, 2]


@given(
    rows=st.integers(1, 200),
    batch_size=st.integers(1, 9),
    accumulate=st.integers(1, 9),
    epochs=st.integers(1, 5),
    max_steps=st.none() | st.integers(1, 300),
)
def test_groups_of_all_epochs_are_all_steps(
    rows: int, batch_size: int, accumulate: int, epochs: int, max_steps: int | None
) -> None:
    step = StepRows.of(batch_size, accumulate)
    found = Plan.of(rows=rows, step=step, epochs=epochs, max_steps=max_steps)
    order = [list(range(at, min(at + batch_size, rows))) for at in range(0, rows, batch_size)]
    starts = (epoch * found.epoch_steps for epoch in range(found.epochs))
    groups = [found.groups(order, start) for start in starts]
    assert sum(len(some) for some in groups) == found.steps
    for whole in groups[:-1]:
        assert [row for group in whole for batch in group for row in batch] == list(range(rows))


def test_every_process_adds_a_batch_to_a_step() -> None:
    assert StepRows.of(4, 3, processes=2) == StepRows(24, 3)
    assert StepRows.of(4, 3, processes=2).in_a_batch == 8


@given(batch_size=st.integers(1, 9), asked=st.integers(1, 99), processes=st.integers(1, 5))
def test_accumulation_follows_from_the_rows_asked_for(
    batch_size: int, asked: int, processes: int
) -> None:
    step = StepRows.of(batch_size, 1, asked, processes)
    assert step.rows == asked == step.in_a_batch * step.batches
    assert step.in_a_batch <= batch_size * processes


def test_an_uneven_step_is_refused() -> None:
    with pytest.raises(WrongCall) as caught:
        StepRows.of(4, 3, asked=16)
    (found,) = caught.value.findings
    assert found.headline == "16 rows per step cannot be divided into 3 batches."
    assert found.fixes[1].text == "Or use  --rows-per-step 18"
