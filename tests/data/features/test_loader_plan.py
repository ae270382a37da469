"""The shuffle that a budget allows, and what it takes, in words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefit.data.features.order import Shuffle
from surefit.data.features.plan import AIM, LEAST_BLOCK_BYTES, Sizes, make_plan, needed
from surefit.errors import BadInput

GB = 1_000_000_000
ROW = 20 * 271 * 4
USUAL = Sizes(rows=98_304, batch_size=256, stored_row=ROW, given_row=0)


def test_data_that_stay_in_memory_are_shuffled_globally() -> None:
    plan = make_plan(USUAL, 12 * GB, room=14 * GB)
    assert plan.shuffle is Shuffle.GLOBAL
    assert plan.design_effect == 1
    assert plan.bytes < 0.09 * GB
    assert str(plan) == (
        "shuffle: global, any row of 98,304 in any batch; 2.13 GB of data stay in memory that is"
        " free now (14.00 GB)\n"
        "design effect 1.00: batches are as good as chance makes them\n"
        f"memory: {plan.bytes / 1e6:.1f} MB at most, of 12.00 GB allowed"
    )


def test_few_rows_are_all_mixed_at_once() -> None:
    plan = make_plan(Sizes(98_304, 256, 40, ROW), 12 * GB, room=14 * GB)
    assert plan.design_effect == 1
    assert plan.bytes < 0.07 * GB
    assert "global, all 98,304 rows are mixed at once" in str(plan)


def test_larger_data_are_shuffled_in_blocks() -> None:
    plan = make_plan(Sizes(10_000_000, 256, ROW, 0), GB, room=14 * GB)
    assert plan.shuffle is Shuffle.BLOCKS
    assert plan.design_effect <= AIM
    assert plan.bytes <= GB
    assert f"blocks of {plan.block} rows" in str(plan)
    assert "216.80 GB of data do not stay in memory that is free now (14.00 GB)" in str(plan)
    assert "warning" not in str(plan)


@given(
    rows=st.integers(1, 10**8),
    batch=st.integers(1, 5000),
    stored=st.integers(1, 10**6),
    given_row=st.sampled_from([0, 21_680]),
    budget=st.integers(10**6, 20 * 10**9),
)
def test_a_plan_stays_in_its_budget(
    rows: int, batch: int, stored: int, given_row: int, budget: int
) -> None:
    sizes = Sizes(rows, min(batch, rows), stored, given_row)
    try:
        plan = make_plan(sizes, budget, room=0)
    except BadInput:
        assert needed(sizes, 1) > budget
        return
    assert plan.bytes <= budget
    assert 1 <= plan.window <= sizes.steps
    small = plan.block * stored <= LEAST_BLOCK_BYTES + stored
    assert plan.design_effect <= AIM + 1 / plan.window or small


def test_a_shuffle_that_mixes_badly_is_warned_of() -> None:
    sizes = Sizes(10**7, 256, 16, 0)
    plan = make_plan(sizes, needed(sizes, 1) + 500_000, room=0)
    assert plan.design_effect > 5
    assert "warning: a batch mixes badly" in str(plan)


def test_the_least_that_works_is_said_with_its_sum() -> None:
    with pytest.raises(BadInput) as refused:
        make_plan(USUAL, GB // 100, room=GB)
    (finding,) = refused.value.findings
    least = needed(USUAL, 1)
    assert finding.code == "SF050"
    assert finding.headline == (
        f"`max_memory_gb=0.01` is 10.0 MB; the least that works is {least / 1e6:.1f} MB."
    )
    assert finding.facts[0].value == "256 rows x 21,680 bytes = 5.6 MB"
    assert finding.facts[1].value.endswith(f"= {least / 1e6:.1f} MB")
    asked = float(finding.fixes[0].text.rpartition("=")[2])
    assert make_plan(USUAL, int(asked * GB), room=GB).bytes <= asked * GB


def test_neither_threads_nor_processes_decide() -> None:
    plan = make_plan(USUAL, GB, room=None)
    assert plan.shuffle is Shuffle.BLOCKS
    assert "several processes must agree" in plan.why
