"""Each divergence is its published formula, and its pull is that formula's gradient."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from surefit.losses.divergence import OBJECTIVES, Divergence, Objective, loss_and_pull


def by_formula(teacher: torch.Tensor, student: torch.Tensor, how: Divergence) -> torch.Tensor:
    """From logits, in float64, with nothing but sums of p log(p / q)."""
    p = (teacher / how.temperature).softmax(1)
    q = (student / how.temperature).softmax(1)

    def kl(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        return (one * (one.log() - other.log())).sum()

    if how.objective == "forward-kl":
        apart = kl(p, q)
    elif how.objective == "reverse-kl":
        apart = kl(q, p)
    elif how.objective == "jsd":
        middle = how.share * p + (1 - how.share) * q
        apart = how.share * kl(p, middle) + (1 - how.share) * kl(q, middle)
    elif how.objective == "skew-kl":
        apart = kl(p, how.skew * p + (1 - how.skew) * q)
    else:
        apart = kl(q, how.skew * q + (1 - how.skew) * p)
    return apart * how.temperature**2


def logits(seed: int, places: int, spread: float, at: float) -> torch.Tensor:
    random = torch.Generator().manual_seed(seed)
    return torch.randn(places, 23, generator=random, dtype=torch.float64) * spread + at


def ours(
    teacher: torch.Tensor, student: torch.Tensor, how: Divergence
) -> tuple[torch.Tensor, torch.Tensor]:
    log_p = (teacher / how.temperature).log_softmax(1)
    log_q = (student / how.temperature).log_softmax(1)
    return loss_and_pull(log_p, log_q, how)


@settings(max_examples=60, deadline=None)
@given(
    objective=st.sampled_from(OBJECTIVES),
    temperature=st.sampled_from([1.0, 2.0, 0.7, 5.0]),
    mixed=st.sampled_from([0.1, 0.5, 0.9]),
    seed=st.integers(0, 10**6),
    places=st.integers(1, 5),
    at=st.sampled_from([0.0, -60.0]),
)
def test_loss_and_gradient(
    objective: Objective, temperature: float, mixed: float, seed: int, places: int, at: float
) -> None:
    how = Divergence(objective, temperature, share=mixed, skew=mixed)
    teacher, student = logits(seed, places, 3.0, at), logits(seed + 1, places, 3.0, at)
    student.requires_grad_()
    expected = by_formula(teacher, student, how)
    (gradient,) = torch.autograd.grad(expected, student)
    loss, pull = ours(teacher, student.detach(), how)
    torch.testing.assert_close(loss, expected.detach(), rtol=1e-9, atol=1e-10)
    torch.testing.assert_close(pull, gradient, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_equal_distributions_are_not_apart(objective: Objective) -> None:
    same = logits(0, 4, 5.0, -60.0)
    loss, pull = ours(same, same.clone(), Divergence(objective, 2.0))
    assert abs(float(loss)) < 1e-12
    assert float(pull.abs().max()) < 1e-12


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_token_that_one_of_them_rules_out_gives_no_nan(objective: Objective) -> None:
    teacher, student = logits(0, 2, 1.0, 0.0).float(), logits(1, 2, 1.0, 0.0).float()
    teacher[:, 3] = -1e4
    student[:, 5] = -1e4
    loss, pull = ours(teacher, student, Divergence(objective))
    assert torch.isfinite(loss)
    assert torch.isfinite(pull).all()


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("mixed", [0.0, 1.0])
def test_nothing_of_one_in_the_mixture(objective: Objective, mixed: float) -> None:
    """Each is then another of the formulas, or 0; here with a ratio that fp32 cannot hold."""
    teacher, student = logits(0, 2, 1.0, 0.0), logits(1, 2, 1.0, 0.0)
    teacher[:, 3] = student[:, 5] = -120.0
    how = Divergence(objective, share=mixed, skew=mixed)
    leaf = student.clone().requires_grad_()
    expected = by_formula(teacher, leaf, how)
    (gradient,) = torch.autograd.grad(expected, leaf)
    loss, pull = ours(teacher.float(), student.float(), how)
    torch.testing.assert_close(loss.double(), expected.detach(), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(pull.double(), gradient, rtol=1e-4, atol=1e-5)


def test_the_weight_beside_cross_entropy_does_not_depend_on_the_temperature() -> None:
    teacher, student = logits(0, 200, 0.01, 0.0), logits(1, 200, 0.01, 0.0)
    pulls = [ours(teacher, student, Divergence(temperature=t))[1].norm() for t in (1.0, 2.0, 4.0)]
    assert pulls[1] / pulls[0] == pytest.approx(1, rel=0.02)
    assert pulls[2] / pulls[0] == pytest.approx(1, rel=0.02)
