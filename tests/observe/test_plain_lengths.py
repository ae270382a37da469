"""Lengths of datasets, read without running their code."""

from typing import Any

import numpy as np
import pytest
import torch

from surefit.observe.inside.plain_lengths import plain_length


class Rows:
    """As most people write it."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)


class Windows(Rows):
    """Says something else than a length."""

    def __len__(self) -> int:
        return len(self.rows) - 3


class Loud(Rows):
    """Runs code of the user's."""

    def __len__(self) -> int:
        raise AssertionError


@pytest.mark.parametrize("rows", [[1, 2, 3], (1, 2, 3), np.ones((3, 2)), torch.ones(3, 2)])
def test_a_plain_length_is_that_of_the_attribute(rows: Any) -> None:
    assert plain_length(Rows(rows)) == 3


@pytest.mark.parametrize("dataset", [Windows([1]), Loud([1]), Rows(Loud([1])), [1], object()])
def test_anything_else_is_not_known(dataset: Any) -> None:
    assert plain_length(dataset) is None
