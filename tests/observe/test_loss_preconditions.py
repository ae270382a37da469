"""What losses demand, against how torch behaves, and what is read from calls and graphs."""

import pytest
import torch
from torch.nn import functional as F

from surefit.doctor.measures.loss_preconditions import SIGNS
from surefit.observe.inside.measuring.loss_preconditions import within_lengths
from surefit.observe.inside.measuring.products import is_normalised_over_rows

SIDES = [torch.randn(8, 5, requires_grad=True) for _ in range(2)]


@pytest.mark.parametrize("name", SIGNS)
def test_torch_takes_a_target_of_zero(name: str) -> None:
    """If it refuses one day, the table is not needed."""
    sides = [side[:, 0] for side in SIDES] if name == "margin_ranking_loss" else SIDES
    given = sides[: SIGNS[name]]
    target = torch.zeros(8) if SIGNS[name] == 2 else torch.zeros_like(given[0])
    assert torch.isfinite(getattr(F, name)(*given, target))


def test_torch_takes_the_blank_as_a_target() -> None:
    scores = torch.randn(6, 2, 4).log_softmax(-1)
    targets = torch.tensor([[0, 1], [2, 3]])
    loss = F.ctc_loss(scores, targets, torch.tensor([6, 6]), torch.tensor([2, 2]))
    assert torch.isfinite(loss)


def test_padding_is_no_target() -> None:
    padded = torch.tensor([[1, 2, 0], [3, 0, 0]])
    assert within_lengths(padded, torch.tensor([2, 1])).tolist() == [1, 2, 3]
    assert within_lengths(padded, (2, 1)).tolist() == [1, 2, 3]
    assert within_lengths(padded[0], torch.tensor([3])).tolist() == [1, 2, 0]
    assert within_lengths(padded, torch.tensor(2)) is None


def test_norms_over_another_axis_than_the_product_sums_over() -> None:
    first, second = SIDES
    over_rows = [F.normalize(side, dim=0) for side in SIDES]
    over_features = [F.normalize(side, dim=-1) for side in SIDES]
    assert is_normalised_over_rows(over_rows[0] @ over_rows[1].T / 0.1)
    by_hand = [side / side.norm(dim=0, keepdim=True) for side in SIDES]
    assert is_normalised_over_rows(by_hand[0] @ by_hand[1].t())
    turned = [F.normalize(side.T, dim=1) for side in SIDES]
    assert is_normalised_over_rows(turned[0].T @ turned[1])
    assert not is_normalised_over_rows(over_rows[0].T @ over_rows[1])
    assert not is_normalised_over_rows(over_features[0] @ over_features[1].T / 0.1)
    assert not is_normalised_over_rows(first @ second.T)
    assert not is_normalised_over_rows(over_features[0] @ over_rows[1].T)
