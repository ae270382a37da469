"""Precision, recall and F1 by counts over all rows, and as means over batches."""

import pytest
import torch

from surefit.observe.inside.measuring import formulas
from surefit.observe.inside.measuring.comparing import compared_classes


def batch(guess: list[int], target: list[int], classes: int = 2) -> formulas.ClassBatch:
    logits = torch.eye(classes)[torch.tensor(guess)]
    return compared_classes(logits, torch.tensor(target))


def test_scores_of_all_rows_and_of_batches() -> None:
    batches = [batch([1, 1, 0, 0], [1, 0, 0, 0]), batch([0, 0, 0, 0], [0, 0, 0, -100])]
    binary = next(number for _, number in formulas.right_scores(batches))
    assert binary == pytest.approx(2 / 3)
    (mean, *averaged), (last, *final) = list(formulas.wrong_scores(batches))[:2]
    assert (mean, last) == ("mean of batch scores", "last batch")
    assert averaged == pytest.approx([1 / 3, 2 / 3])
    assert final == pytest.approx([0, 2 / 3])


def test_a_column_of_logits_has_two_classes() -> None:
    one_column = compared_classes(torch.tensor([2.0, -1.0, 3.0]), torch.tensor([1.0, 0.0, 0.0]))
    assert one_column.table == ((1, 2, 1), (2, 1, 1))


def test_accuracies_of_batches_of_unequal_size() -> None:
    batches = [batch([1, 1, 1], [1, 1, 1]), batch([0], [1])]
    assert formulas.unequal_shares(batches) == (0.5, 0.75)
    assert formulas.unequal_shares(batches[:1]) is None
