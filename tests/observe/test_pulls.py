"""A gradient at an output, held against what can be its targets."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

from surefit.observe.inside.training import pulls

ROWS, CLASSES = 24, 5


def gradient_of(output: Tensor, loss: Callable[[Tensor], Tensor]) -> Tensor:
    leaf = output.clone().requires_grad_()
    loss(leaf).backward()
    assert leaf.grad is not None
    return leaf.grad


def drawn(seed: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    output = torch.randn(ROWS, CLASSES, generator=generator)
    return output, torch.randint(0, CLASSES, (ROWS,), generator=generator)


def pull(output: Tensor, target: Tensor, loss: Callable[[Tensor], Tensor]) -> Any:
    found = pulls.pull_of(output, gradient_of(output, loss), target)
    assert found is not None
    return found


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["mean", "sum"]), st.floats(0.1, 100))
def test_cross_entropy_moves_every_row_towards_its_class(
    seed: int, reduction: str, factor: float
) -> None:
    output, labels = drawn(seed)
    known = pull(
        output, labels, lambda logits: factor * F.cross_entropy(logits, labels, reduction=reduction)
    )
    assert known.towards == known.judged == ROWS
    assert (known.away, known.over_rows, known.least, known.other) == (0, False, False, "")


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.0, 0.3))
def test_a_maximised_cross_entropy_moves_every_row_away(seed: int, smoothing: float) -> None:
    output, labels = drawn(seed)
    loss = lambda logits: -F.cross_entropy(logits, labels, label_smoothing=smoothing)  # noqa: E731
    known = pull(output / 10, labels, loss)
    assert known.away == ROWS
    assert not known.least


def test_a_softmax_over_the_rows_is_known_by_its_sums() -> None:
    output, labels = drawn(1)
    loss = lambda logits: F.nll_loss(F.log_softmax(logits, dim=0), labels)  # noqa: E731
    assert pull(output, labels, loss).over_rows


def test_smoothing_on_the_wrong_classes_is_read_off() -> None:
    output, labels = drawn(2)
    soft = torch.full((ROWS, CLASSES), 0.225).scatter_(1, labels[:, None], 0.1)
    assert pull(output, labels, lambda logits: F.cross_entropy(logits, soft)).least


def test_targets_of_the_next_row_are_told() -> None:
    output, labels = drawn(3)
    loss = lambda logits: F.cross_entropy(logits[:-1], labels[1:])  # noqa: E731
    assert pull(output, labels, loss).other == "the next row"


@pytest.mark.parametrize("loss", [F.mse_loss, F.l1_loss, F.smooth_l1_loss])
def test_numbers_are_moved_towards_their_own(loss: Callable[..., Tensor]) -> None:
    output, target = drawn(4)[0], drawn(5)[0]
    known = pull(output, target, lambda predictions: loss(predictions, target))
    assert known.towards == known.judged == ROWS * CLASSES
    assert known.away == 0


@pytest.mark.parametrize("loss", [F.mse_loss, F.l1_loss])
def test_and_away_from_them(loss: Callable[..., Tensor]) -> None:
    output, target = drawn(4)[0], drawn(5)[0]
    known = pull(output, target, lambda predictions: 1 - loss(predictions, target))
    assert known.away == known.judged


def test_another_target_is_neither() -> None:
    """Its logarithm is learned, which is always less than it."""
    output, target = drawn(4)[0], drawn(5)[0].sigmoid()
    known = pull(output.abs(), target, lambda predictions: F.mse_loss(predictions, target.log()))
    assert known.away == 0
    assert known.towards < known.judged


def test_zeros_and_ones_take_logits_and_numbers() -> None:
    output, target = 3 * drawn(6)[0][:, :1], (drawn(7)[0][:, 0] > 0).float()
    wanted = target[:, None]
    for known in (
        pull(output, target, lambda given: F.binary_cross_entropy_with_logits(given, wanted)),
        pull(output, target, lambda given: F.mse_loss(given, wanted)),
    ):
        assert known.towards == known.judged
        assert known.away == 0
    turned = pull(output, target, lambda given: -F.binary_cross_entropy_with_logits(given, wanted))
    assert turned.away == turned.judged


def test_features_are_no_classes() -> None:
    """A head follows: the sign at a feature that is numbered like the label means nothing."""
    output, labels = drawn(8)
    head = torch.randn(CLASSES, 3, generator=torch.Generator().manual_seed(0))
    known = pull(output, labels % 3, lambda hidden: F.cross_entropy(hidden @ head, labels % 3))
    assert known.away < known.judged


def test_a_sequence_that_is_predicted_has_its_targets_beside() -> None:
    series = torch.randn(8, 12, 3, generator=torch.Generator().manual_seed(0)).cumsum(1) + 50
    output = torch.zeros(8, 12, 3)
    later = gradient_of(output, lambda given: F.mse_loss(given[:, :-1], series[:, 1:]))
    same = gradient_of(output, lambda given: F.mse_loss(given[:, :-1], series[:, :-1]))
    for gradient, own in ((later, False), (same, True)):
        known = pulls.pull_of(output, gradient, series)
        assert known is not None
        assert pulls.is_own(output, gradient, known, 1) is own


def test_padding_alone() -> None:
    lengths = torch.tensor([3, 5, 8, 6])
    real = torch.arange(8) < lengths[:, None]
    tokens = torch.randint(2, 9, (4, 8), generator=torch.Generator().manual_seed(0)) * real
    features = torch.ones(4, 8, 2) * real[..., None]
    gradient = torch.ones(4, 8, 5) * ~real[..., None]
    for inputs in (tokens, features):
        assert pulls.padding_alone(gradient, inputs) is True
        assert pulls.padding_alone(torch.ones(4, 8, 5), inputs) is False
    assert pulls.padding_alone(gradient, torch.ones(4, 8, 2)) is None
