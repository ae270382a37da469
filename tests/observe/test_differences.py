"""Differences in the graph of a loss, by their shapes."""

import torch

from surefit.doctor.observations import DifferenceSeen
from surefit.observe.inside.training.differences import differences_in


def test_shapes_of_a_difference_and_of_its_side_with_a_gradient() -> None:
    predictions, targets = torch.zeros(4, 1, requires_grad=True) * 2, torch.zeros(4)
    loss = ((predictions - targets) ** 2).mean()
    assert list(differences_in(loss.grad_fn)) == [DifferenceSeen((4, 4), (4, 1))]
    loss = (targets - predictions.squeeze(-1)).abs().sum()
    assert list(differences_in(loss.grad_fn)) == [DifferenceSeen((4,), (4,))]


def test_no_graph() -> None:
    assert list(differences_in(None)) == []
