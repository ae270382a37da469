"""The chunked loss of two models is that of all their logits at once."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from surefit.losses.distillation import Head, head_distillation
from surefit.losses.divergence import OBJECTIVES, Divergence, Objective, loss_and_pull

VOCABULARY, WIDTH, TEACHER_WIDTH = 61, 6, 9


def numbers(places: int, dtype: torch.dtype) -> dict[str, Any]:
    random = torch.Generator().manual_seed(places)

    def drawn(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=random, dtype=torch.float64).to(dtype)

    return {
        "hidden": drawn(places, WIDTH).requires_grad_(),
        "weight": drawn(VOCABULARY, WIDTH).requires_grad_(),
        "bias": drawn(VOCABULARY).requires_grad_(),
        "teacher_hidden": drawn(places, TEACHER_WIDTH),
        "teacher_weight": drawn(VOCABULARY, TEACHER_WIDTH),
        "targets": torch.randint(0, VOCABULARY, (places,), generator=random),
    }


def at_once(given: dict[str, Any], how: Divergence, alpha: float) -> tuple[torch.Tensor, ...]:
    own = F.linear(given["hidden"], given["weight"], given["bias"])
    of_teacher = F.linear(given["teacher_hidden"], given["teacher_weight"])
    entropy = F.cross_entropy(own, given["targets"], reduction="sum")
    log_p = (of_teacher / how.temperature).log_softmax(1)
    log_q = (own / how.temperature).log_softmax(1)
    apart, pull = loss_and_pull(log_p.clone(), log_q.detach().clone(), how)
    # The divergence's own gradient is tested beside it; here it goes on to weights and states.
    through = (own * pull).sum()
    (((1 - alpha) * entropy + alpha * through) / 7).backward()
    return entropy.detach(), apart


@settings(max_examples=40, deadline=None)
@given(
    objective=st.sampled_from(OBJECTIVES),
    temperature=st.sampled_from([1.0, 2.0]),
    alpha=st.sampled_from([0.0, 0.3, 1.0]),
    places=st.sampled_from([1, 4, 5, 13]),
)
def test_sums_and_gradients(
    objective: Objective, temperature: float, alpha: float, places: int
) -> None:
    how = Divergence(objective, temperature)
    one, other = numbers(places, torch.float64), numbers(places, torch.float64)
    found = head_distillation(
        one["hidden"],
        Head(one["weight"], one["bias"]),
        one["teacher_hidden"],
        Head(one["teacher_weight"]),
        one["targets"],
        how,
        alpha,
        chunk=5,
    )
    (found.loss / 7).backward()
    entropy, apart = at_once(other, how, alpha)
    torch.testing.assert_close(found.cross_entropy, entropy, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(found.divergence, apart, rtol=1e-9, atol=1e-10)
    mixed = (1 - alpha) * entropy + alpha * apart
    torch.testing.assert_close(found.loss.detach(), mixed, rtol=1e-9, atol=1e-10)
    for name in ("hidden", "weight", "bias"):
        torch.testing.assert_close(one[name].grad, other[name].grad, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_summed_in_fp32(dtype: torch.dtype) -> None:
    how = Divergence(temperature=2.0)
    half, full = numbers(40, dtype), numbers(40, torch.float64)
    with torch.no_grad():
        for name, value in full.items():
            if name != "targets":
                value.copy_(half[name])
    found, expected = (
        head_distillation(
            given["hidden"],
            Head(given["weight"], given["bias"]),
            given["teacher_hidden"],
            Head(given["teacher_weight"]),
            given["targets"],
            how,
            0.5,
        )
        for given in (half, full)
    )
    assert found.loss.dtype == torch.float32
    torch.testing.assert_close(found.loss.double(), expected.loss, rtol=2e-2, atol=0)
    found.loss.backward()
    assert half["weight"].grad.dtype == dtype


def test_no_place_at_all() -> None:
    given = numbers(0, torch.float64)
    found = head_distillation(
        given["hidden"],
        Head(given["weight"]),
        given["teacher_hidden"],
        Head(given["teacher_weight"]),
        given["targets"],
        Divergence(),
        0.5,
    )
    found.loss.backward()
    assert found.loss.item() == 0
    assert not given["weight"].grad.any()


def test_the_teacher_is_given_no_gradient() -> None:
    given = numbers(3, torch.float64)
    given["teacher_weight"].requires_grad_()
    given["teacher_hidden"].requires_grad_()
    found = head_distillation(
        given["hidden"],
        Head(given["weight"]),
        given["teacher_hidden"],
        Head(given["teacher_weight"]),
        given["targets"],
        Divergence(),
        1.0,
    )
    found.loss.backward()
    assert given["teacher_weight"].grad is None
    assert given["teacher_hidden"].grad is None
