"""Epochs of loaders, counted from what goes through their rows."""

import sys
from typing import Any

import pytest

from surefit.observe.inside import epochs
from surefit.observe.inside.autopsy.probes.loaders import READS_AHEAD, answer
from surefit.observe.inside.epochs import newest_first


class Sampler:
    """Draws batches; only what it holds is looked at."""

    def __init__(self, batch_size: int) -> None:
        self.batch_size = batch_size
        self.drop_last = False


class Rows:
    """What goes through the rows of a loader."""

    def __init__(self, rows: list[int], size: int) -> None:
        self._dataset = rows
        self._dataset_kind = 0
        self._index_sampler = Sampler(size)
        self._num_workers = 0
        self._num_yielded = 0
        self._drop_last = False

    def give(self, batch: Any) -> None:
        self._num_yielded += batch is not None
        epochs._came((self,), batch)


@pytest.fixture(autouse=True)
def nothing_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(epochs, "_epochs", {})


def test_batches_are_counted_and_the_newest_comes_first() -> None:
    train, test = Rows(list(range(10)), 4), Rows(list(range(6)), 2)
    for _ in range(3):
        train.give([0])
    test.give([0])
    assert [(one.size, one.yielded, one.rows) for one in newest_first()] == [(2, 1, 6), (4, 3, 10)]
    train.give([0])
    assert newest_first()[0].yielded == 4


def test_an_epoch_that_has_ended_is_not_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, READS_AHEAD, raising=False)  # another test may need it
    rows = Rows(list(range(4)), 4)
    rows.give([0])
    rows.give(None)
    assert newest_first()[0].ended
    assert answer([], {}) == {"loaders": []}


def test_only_a_few_are_kept_and_none_of_the_rows() -> None:
    every = [Rows([1], 1) for _ in range(20)]
    for one in every:
        one.give([0])
    assert len(newest_first()) == epochs.MOST_KEPT


def test_rows_of_a_class_of_the_users_are_not_counted() -> None:
    class Own(list[int]):
        def __len__(self) -> int:
            raise AssertionError("code of the user's")

    rows = Rows(Own([1, 2]), 2)
    rows.give([0])
    assert newest_first()[0].rows is None
