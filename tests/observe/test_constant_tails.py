"""Columns that padding made are counted, with the mass that they hold."""

import pytest
import torch
from torch.nn import functional as F

from surefit.observe.inside.training.constant_tails import Tails


def tail(side: torch.Tensor) -> tuple[int, float]:
    tails = Tails()
    tails.look(side)
    return tails.columns, tails.share


@pytest.mark.parametrize("shape", [(6, 20), (3, 4, 20), (1, 7, 20)])
def test_zeros_behind_logits_are_counted(shape: tuple[int, ...]) -> None:
    filled = F.pad(torch.randn(shape), (0, 5)).softmax(-1)
    columns, share = tail(filled)
    assert columns == 5
    assert tail(filled.log())[0] == 5
    rows = filled[..., 0, :] if filled.dim() > 2 and shape[0] > 1 else filled.reshape(-1, 25)
    assert share == pytest.approx(rows[..., -5:].sum(-1).mean().item(), rel=1e-4)


def test_columns_of_a_model_are_none() -> None:
    assert tail(torch.randn(6, 20).log_softmax(-1)) == (0, 0.0)
    assert tail(F.pad(torch.randn(6, 20), (0, 1)).log_softmax(-1)) == (0, 0.0)


def test_rows_that_are_the_same_all_over_have_no_tail() -> None:
    assert tail(torch.zeros(6, 20).log_softmax(-1)) == (0, 0.0)


def test_a_fill_of_minus_infinity_holds_nothing() -> None:
    columns, share = tail(F.pad(torch.randn(6, 20), (0, 5), value=float("-inf")).log_softmax(-1))
    assert (columns, share) == (5, 0.0)
