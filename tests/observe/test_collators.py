"""The rows that a collator was given, as the autopsy reads them from frames."""

from typing import Any

import pytest

from surefit.observe.inside.autopsy.collators import collator_in


class Collator:
    """Only its name and what it holds are looked at; it is never called."""


class TakesColumnsAway:
    """As the Trainer's own one around it."""

    def __init__(self, inside: Collator, columns: list[str]) -> None:
        self.data_collator = inside
        self.signature_columns = columns


def fetched(collator: Any, rows: list[Any]) -> Any:
    """A frame like that of a loader's fetcher."""

    class Fetcher:
        def __init__(self) -> None:
            self.collate_fn = collator
            self.dataset = rows

    names: dict[str, Any] = {}
    code = compile(
        "def fetch(self, data):\n    import sys\n    return sys._getframe()",
        "torch/utils/data/_utils/fetch.py",
        "exec",
    )
    exec(code, names)
    seen = collator_in([names["fetch"](Fetcher(), rows)])
    assert seen is not None
    return seen


def test_lengths_kinds_and_labels_that_count() -> None:
    rows = [
        {"input_ids": [1, 2, 3], "labels": [-100, 2, 3], "text": "a"},
        {"input_ids": [1, 2], "labels": [-100, 2], "text": "bc"},
    ]
    seen = fetched(Collator(), rows)
    assert seen.rows == 2
    assert seen.lengths["labels"] == (3, 2)
    assert seen.kinds["text"] == ("str",)
    assert seen.supervised == {"labels": 3}
    assert seen.shared == 0


def test_tensors_and_arrays_of_labels_are_counted_too() -> None:
    import numpy as np
    import torch

    rows = [{"labels": torch.tensor([-100, 5])}, {"labels": np.array([4, 5, -100])}]
    assert fetched(Collator(), rows).supervised == {"labels": 3}


def test_lists_that_are_one_object() -> None:
    ids = [1, 2]
    assert fetched(Collator(), [{"input_ids": ids, "labels": ids}, {"labels": [3]}]).shared == 1


@pytest.mark.parametrize("columns", [["labels"], ["labels", "missing"]])
def test_columns_that_the_trainer_takes_away_are_not_given(columns: list[str]) -> None:
    wrapped = TakesColumnsAway(Collator(), columns)
    seen = fetched(wrapped, [{"labels": [1], "text": "a"}])
    assert seen.kind == "Collator"
    assert list(seen.kinds) == ["labels"]
