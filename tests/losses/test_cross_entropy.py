"""The sum and its gradients are those of all logits at once, and no more of them are made."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from allocations import allocations
from surefit.losses import cross_entropy
from surefit.losses.cross_entropy import head_cross_entropy
from surefit.losses.places import CHUNK

VOCABULARY, WIDTH = 97, 8
TORCHS = ("torch's own", "an older torch")


@pytest.fixture(params=TORCHS)
def by(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """With torch's own function, and without it."""
    if request.param == TORCHS[1]:
        monkeypatch.delattr(nn, "LinearCrossEntropyOptions")
        monkeypatch.delattr(F, "linear_cross_entropy")
    elif not hasattr(nn, "LinearCrossEntropyOptions"):
        pytest.skip("this torch has no such function")
    return str(request.param)


def numbers(places: int, dtype: torch.dtype = torch.float64) -> tuple[torch.Tensor, ...]:
    random = torch.Generator().manual_seed(places)
    hidden = torch.randn(places, WIDTH, generator=random, dtype=torch.float64)
    weight = torch.randn(VOCABULARY, WIDTH, generator=random, dtype=torch.float64)
    bias = torch.randn(VOCABULARY, generator=random, dtype=torch.float64)
    targets = torch.randint(0, VOCABULARY, (places,), generator=random)
    return *(x.to(dtype).requires_grad_() for x in (hidden, weight, bias)), targets


def both(places: int, *, biased: bool = True) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Loss, then gradients: in chunks, and at once."""
    found = []
    for function in (head_cross_entropy, at_once):
        hidden, weight, bias, targets = numbers(places)
        loss = function(hidden, weight, bias if biased else None, targets)
        (loss / 7).backward()
        grads = [x.grad for x in (hidden, weight, bias) if x.grad is not None]
        found.append([loss.detach(), *grads])
    return found[0], found[1]


def at_once(hidden: Any, weight: Any, bias: Any, targets: Any) -> torch.Tensor:
    return F.cross_entropy(F.linear(hidden, weight, bias), targets, reduction="sum")


@pytest.mark.usefixtures("by")
@pytest.mark.parametrize("places", [1, 5, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 2])
@pytest.mark.parametrize("biased", [False, True])
def test_loss_and_gradients(places: int, biased: bool) -> None:
    chunked, whole = both(places, biased=biased)
    assert len(chunked) == len(whole) == 3 + biased
    for one, other in zip(chunked, whole, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-11, atol=1e-12)


@pytest.mark.usefixtures("by")
def test_no_place_at_all() -> None:
    hidden, weight, bias, targets = numbers(0)
    loss = head_cross_entropy(hidden, weight, bias, targets)
    assert loss.item() == 0
    loss.backward()
    assert hidden.grad is not None
    assert weight.grad is not None
    assert hidden.grad.shape == (0, WIDTH)
    assert not weight.grad.any()


@pytest.mark.usefixtures("by")
def test_a_frozen_head_is_given_no_gradient() -> None:
    hidden, weight, bias, targets = numbers(3)
    whole = at_once(hidden, weight, bias, targets)
    (wanted,) = torch.autograd.grad(whole, hidden)
    weight.requires_grad_(False)
    bias.requires_grad_(False)
    with allocations() as allocated:
        head_cross_entropy(hidden, weight, bias, targets).backward()
    assert weight.grad is None
    assert allocated.largest < weight.nbytes
    assert hidden.grad is not None
    torch.testing.assert_close(hidden.grad, wanted, rtol=1e-11, atol=1e-12)


@pytest.mark.usefixtures("by")
def test_nothing_to_train() -> None:
    hidden, weight, bias, targets = numbers(5)
    wanted = at_once(hidden, weight, bias, targets)
    with torch.no_grad(), allocations() as allocated:
        loss = head_cross_entropy(hidden, weight, bias, targets)
    assert not loss.requires_grad
    assert allocated.largest < weight.nbytes
    torch.testing.assert_close(loss, wanted.detach())


@pytest.mark.usefixtures("by")
def test_never_more_logits_than_those_of_a_chunk() -> None:
    hidden, weight, bias, targets = numbers(5 * CHUNK)
    chunk = CHUNK * VOCABULARY * hidden.itemsize
    with allocations() as allocated:
        head_cross_entropy(hidden, weight, bias, targets).backward()
    assert allocated.largest == chunk
    assert allocated.peak < 4 * chunk
    with allocations() as allocated:
        at_once(hidden, weight, bias, targets).backward()
    assert allocated.largest == 5 * chunk, "what is watched for can be seen"


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_summed_in_single(dtype: torch.dtype) -> None:
    """Torch's own would give a sum of two or three digits, and in fp16 none above 65504."""
    places = 12_000
    hidden, weight, bias, targets = (x.detach() for x in numbers(places, dtype))
    hidden.mul_(4).requires_grad_()
    wide = hidden.detach().float().requires_grad_()
    logits = F.linear(hidden.detach(), weight, bias).float()
    wanted = F.cross_entropy(logits, targets, reduction="sum")
    assert wanted > 65504
    loss = head_cross_entropy(hidden, weight, bias, targets)
    assert loss.dtype == torch.float32
    torch.testing.assert_close(loss.detach(), wanted, rtol=1e-6, atol=0)
    (loss / places).backward()
    (at_once(wide, weight.float(), bias.float(), targets) / places).backward()
    assert hidden.grad is not None
    assert wide.grad is not None
    assert hidden.grad.dtype == dtype
    error = (hidden.grad.float() - wide.grad).norm() / wide.grad.norm()
    assert error < 1e-2


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_under_autocast_it_is_what_autocast_makes_of_it(dtype: torch.dtype) -> None:
    hidden, weight, bias, targets = numbers(2 * CHUNK + 5, torch.float32)
    with torch.autocast("cpu", dtype):
        wanted = F.cross_entropy(F.linear(hidden, weight, bias).float(), targets, reduction="sum")
        loss = head_cross_entropy(hidden, weight, bias, targets)
    torch.testing.assert_close(loss, wanted, rtol=1e-6, atol=0)
    grads = [torch.autograd.grad(total, (hidden, weight, bias)) for total in (loss, wanted)]
    for one, other in zip(*grads, strict=True):
        assert one.dtype == torch.float32
        assert (one - other).norm() < 1e-2 * other.norm()


def test_a_weight_in_another_precision_than_the_states() -> None:
    hidden, weight, _, targets = numbers(9, torch.float32)
    loss = head_cross_entropy(hidden, weight.detach().bfloat16(), None, targets)
    wanted = at_once(hidden.bfloat16().float(), weight.bfloat16().float(), None, targets)
    torch.testing.assert_close(loss.detach(), wanted.detach(), rtol=1e-2, atol=0)


def test_torchs_own_is_used_where_it_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    if not hasattr(nn, "LinearCrossEntropyOptions"):
        pytest.skip("this torch has no such function")
    monkeypatch.setattr(cross_entropy, "_InChunks", None)
    hidden, weight, bias, targets = numbers(5, torch.float32)
    assert head_cross_entropy(hidden, weight, bias, targets).item() > 0
