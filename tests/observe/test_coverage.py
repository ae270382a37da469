"""Rows by the numbers that a sampler drew, and copies among workers."""

from types import SimpleNamespace

import torch
from torch.utils.data import (
    DataLoader,
    RandomSampler,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
)

from surefit.observe.inside.training import readable
from surefit.observe.inside.training.coverage import (
    CopiedRows,
    DrawnRows,
    other_rows,
    planned_rows,
)
from surefit.observe.inside.training.row_prints import prints_of

ROWS = torch.randn(40, 6)
DATA = TensorDataset(ROWS)


def test_rows_that_come_for_the_first_time() -> None:
    drawn = DrawnRows(planned=6)
    for serial, numbers in ((1, [0, 1]), (1, [2]), (2, [0, 1]), (3, [1, 3])):
        drawn.add(numbers, serial)
    seen = drawn.measured(None)
    assert (seen.used, seen.fresh) == (4, (3, 0, 1))


def test_what_samplers_draw_from() -> None:
    def planned(sampler: object) -> int | None:
        loader = DataLoader(DATA, batch_size=4, sampler=sampler)  # type: ignore[arg-type]
        return planned_rows(loader.batch_sampler, DATA, 40)

    assert planned(RandomSampler(DATA)) == 40
    assert planned(SubsetRandomSampler([1, 2, 3])) == 3
    assert planned(WeightedRandomSampler([1.0] * 40, 40)) is None
    short = TensorDataset(ROWS[:7])
    loader = DataLoader(DATA, batch_size=4, sampler=RandomSampler(short))
    assert planned_rows(loader.batch_sampler, DATA, 40) is None
    assert other_rows(loader.batch_sampler, DATA) == 7


def stored(numbers: list[int], given: torch.Tensor) -> int:
    drawn = DrawnRows(planned=40)
    with readable.looking():
        prints = prints_of(given)
    assert prints is not None
    drawn.look(numbers, prints.exact)
    return drawn.measured(SimpleNamespace(x=ROWS)).stored_apart


def test_a_row_that_is_given_for_others() -> None:
    numbers = list(range(8))
    assert stored(numbers, ROWS[[0, 0, 0, 0, 4, 4, 4, 4]]) == 6
    assert stored(numbers, ROWS[:8]) == 0
    assert stored(numbers, ROWS[[9, 9, 9, 9, 12, 12, 12, 12]]) == 0  # mapped on purpose


def test_batches_that_all_workers_give() -> None:
    copied = CopiedRows(workers=2)
    for prints in ([1, 2], [1, 2], [3, 4], [3, 4], [5, 6], [7, 8]):
        copied.add(prints, 1)
    seen = copied.measured(finished=True)
    assert (seen.groups, seen.equal_groups, seen.distinct, seen.each) == (3, 2, 8, 0)


def test_rows_that_come_once_from_each_worker() -> None:
    copied = CopiedRows(workers=2)
    for prints in ([1, 2], [3, 1], [4, 3], [2, 4]):
        copied.add(prints, 1)
    assert copied.measured(finished=True).each == 2
    assert copied.measured(finished=False).each == 0
