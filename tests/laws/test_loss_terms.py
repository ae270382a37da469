"""Terms of a loss: which are reduced differently without anybody having chosen it."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from surefit.doctor.measures.loss_terms import LossTerm, SummedLoss
from surefit.laws.invariants.loss_terms import uneven_pairs
from surefit.observe.inside.measuring.loss_terms import described, terms_of

ROWS = 32
encoder, decoder = nn.Linear(24, 8), nn.Linear(4, 24)
x = torch.rand(ROWS, 24)


def forward() -> tuple[Tensor, Tensor, Tensor]:
    mean, log_variance = encoder(x).chunk(2, dim=1)
    return decoder(mean), mean, 1 + log_variance - mean.pow(2) - log_variance.exp()


def terms(loss: Tensor) -> tuple[LossTerm, ...]:
    return tuple(described(terms_of(loss.grad_fn)))


def uneven(loss: Tensor) -> bool:
    return bool(list(uneven_pairs(SummedLoss(place=None, looked=1, terms=terms(loss)))))


def with_normal(logits: Tensor, mean: Tensor, _: Tensor) -> Tensor:
    prior = torch.distributions.Normal(torch.zeros_like(mean), torch.ones_like(mean))
    posterior = torch.distributions.Normal(mean, mean.exp())
    return F.mse_loss(logits, x) + torch.distributions.kl_divergence(posterior, prior).sum()


BROKEN: list[Callable[[Tensor, Tensor, Tensor], Tensor]] = [
    lambda logits, _, kl: F.binary_cross_entropy_with_logits(logits, x) - 0.5 * kl.sum(),
    lambda logits, _, kl: (F.mse_loss(logits, x) - 0.5 * torch.sum(kl)) / ROWS,
    lambda logits, _, kl: ((logits - x) ** 2).mean() - 0.5 * kl.sum(1).sum(),
    lambda logits, _, kl: F.mse_loss(logits, x, reduction="sum") - 0.5 * kl.mean(),
    lambda logits, _, kl: F.cross_entropy(logits, x.argmax(1)) - 0.5 * kl.sum((0, 1)),
    with_normal,
]
HEALTHY: list[Callable[[Tensor, Tensor, Tensor], Tensor]] = [
    lambda logits, _, kl: F.mse_loss(logits, x) - 0.5 * kl.sum(1).mean(),
    lambda logits, _, kl: F.mse_loss(logits, x) - 0.5 * kl.sum() / ROWS,
    lambda logits, _, kl: F.mse_loss(logits, x) + 2.5e-4 * (-0.5 * kl.sum()),
    lambda logits, _, kl: F.mse_loss(logits, x) + 1.0 * (-0.5 * kl.sum()),
    lambda logits, _, kl: (F.mse_loss(logits, x, reduction="sum") - 0.5 * kl.sum()) / ROWS,
    lambda logits, _, kl: F.mse_loss(logits, x) - 0.5 * kl.mean(),
    lambda logits, _, __: F.mse_loss(logits, x) + encoder.weight.pow(2).sum(),
    lambda logits, _, __: F.mse_loss(logits, x) + (encoder.weight.t() @ encoder.weight).sum(),
    lambda logits, mean, _: F.mse_loss(logits, x) + (x.softmax(0)[:, :4] * mean).sum(),
    lambda logits, mean, _: F.mse_loss(logits, x) + mean.mean(0).pow(2).sum(),
    lambda logits, mean, _: F.mse_loss(logits.sum(1), x.sum(1)) + mean.sum(),
    lambda logits, _, kl: (logits - x).pow(2).sum() / x.sum() - 0.5 * kl.mean(),
]


@pytest.mark.parametrize("loss_of", BROKEN)
def test_a_mean_beside_a_sum(loss_of: Callable[[Tensor, Tensor, Tensor], Tensor]) -> None:
    assert uneven(loss_of(*forward()))


@pytest.mark.parametrize("loss_of", HEALTHY)
def test_terms_that_go_together(loss_of: Callable[[Tensor, Tensor, Tensor], Tensor]) -> None:
    assert not uneven(loss_of(*forward()))


@pytest.mark.parametrize(
    ("scale", "vanished"), [(0.01, True), (2.0, False)], ids=["variances of 1", "others"]
)
def test_a_divergence_that_has_vanished(scale: float, vanished: bool) -> None:
    """Summed over the latent code and averaged over the rows."""
    mean, log_variance = (encoder(x) * scale).chunk(2, dim=1)
    inside = 1 + log_variance - mean.pow(2) - log_variance.exp()
    ratio = torch.distributions.kl_divergence(
        torch.distributions.Normal(mean, (0.5 * log_variance).exp()),
        torch.distributions.Normal(0.0, 1.0),
    )
    pixels = F.mse_loss(decoder(mean), x)
    assert uneven(pixels - 0.5 * inside.sum(1).mean()) is vanished
    assert uneven(pixels + torch.mean(-0.5 * inside.sum(dim=1), dim=0)) is vanished
    assert uneven(pixels + ratio.sum(-1).mean()) is vanished
    assert not uneven(pixels - 0.05 * inside.sum(1).mean())
    assert not uneven(pixels + mean.pow(2).sum(1).mean())


def test_terms_are_read_from_the_graph() -> None:
    logits, _, kl = forward()
    first, second = terms((F.mse_loss(logits, x) + 0.1 * kl.sum()) / ROWS)
    assert (first.reduction, first.operation, first.shape) == ("mean", "mse_loss", (ROWS, 24))
    assert (second.reduction, second.shape) == ("sum", (ROWS, 4))
    assert second.factor == pytest.approx(0.1)
    assert first.factors == 0
    assert first.shared == (1,)
