"""How this CPU multiplies matrices fastest, measured before training in well under a second."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from surefit.render.console import say
from surefit.settings import AskedPrecision, Precision

from .device import TINY
from .ranks import Ranks

FASTER = 1.25
"""Times as fast: what is gained less in products is lost around them."""

TOKENS = 256
WIDEST = 1024
"""Sides of the matrices that are tried: on two of them the processor is as busy as on larger."""

EXACT = 1e-5
"""Relative error of a product in fp32: about 3e-7 of sums over 1024 numbers. One that was rounded
to bf16 on the way has 2e-3."""


@contextmanager
def products_put_back() -> Iterator[None]:
    """However products in fp32 are made inside, they are made as before afterwards."""
    before = torch.get_float32_matmul_precision()
    try:
        yield
    finally:
        if torch.get_float32_matmul_precision() != before:
            torch.set_float32_matmul_precision(before)


def choose_products(model: nn.Module) -> float | None:
    """Has oneDNN make products in fp32 where it is as exact as MKL and faster: says how many times.

    MKL leaves half of an AMD processor's width unused. torch asks oneDNN under the name "medium",
    which also lets it round to bf16. Where it does so, as with AMX, the error shows it, and
    everything stays as it was; so it does in tiny models.
    """
    if not _is_worth_trying(model) or torch.get_float32_matmul_precision() != "highest":
        return None
    given, weight = _matrices(model)
    usual = _seconds(lambda: F.linear(given, weight))
    torch.set_float32_matmul_precision("medium")
    ratio = usual / _seconds(lambda: F.linear(given, weight))
    if ratio >= FASTER and _error(given, weight) <= EXACT:
        return ratio
    torch.set_float32_matmul_precision("highest")
    return None


def times_as_fast_in_bf16(model: nn.Module, *, frozen: bool) -> float:
    """A layer there and back in bf16, beside fp32 as it is computed now; 0 where bf16 would only be
    imitated, or where products are too small to matter.

    Weights that are trained stay fp32 and are rounded in every pass; `frozen` ones are rounded
    once.
    """
    if not (_is_worth_trying(model) and torch.ops.mkldnn._is_mkldnn_bf16_supported()):
        return 0.0
    given, weight = _matrices(model)
    lower = weight.bfloat16() if frozen else weight
    usual = _seconds(lambda: _there_and_back(given, weight, frozen, bf16=False))
    return usual / _seconds(lambda: _there_and_back(given, lower, frozen, bf16=True))


def known_precision(asked: AskedPrecision) -> Precision | None:
    """What `auto` is where nothing has to be measured for it; None on a CPU."""
    if asked != "auto":
        return asked
    if not torch.cuda.is_available():
        return None
    return "bf16" if torch.cuda.is_bf16_supported() else "fp32"


def settled_precision(
    asked: AskedPrecision, model: nn.Module, ranks: Ranks, *, frozen: bool
) -> Precision:
    """The same on all processes."""
    known = known_precision(asked)
    if known is not None:
        return known
    return ranks.first_does(partial(measured_precision, model, frozen=frozen))


def measured_precision(model: nn.Module, *, frozen: bool) -> Precision:
    """What `auto` is on a CPU: bf16 where layers of this model are faster in it, else fp32."""
    ratio = times_as_fast_in_bf16(model, frozen=frozen)
    if ratio < FASTER:
        return "fp32"
    say(f"Precision: bf16, in which this CPU is {ratio:.1f} times as fast at layers of this size")
    return "bf16"


def _is_worth_trying(model: nn.Module) -> bool:
    weights = sum(parameter.numel() for parameter in model.parameters())
    return weights >= TINY and not torch.accelerator.is_available()


def _matrices(model: nn.Module) -> tuple[torch.Tensor, torch.Tensor]:
    """States of a few tokens, and a weight of the size that most of the model's weights lie in."""
    sizes: Counter[tuple[int, ...]] = Counter()
    for parameter in model.parameters():
        if parameter.dim() > 1 and parameter.is_floating_point():
            sizes[parameter.shape[-2:]] += parameter.numel()
    rows, columns = (min(side, WIDEST) for side in sizes.most_common(1)[0][0])
    chance = torch.Generator().manual_seed(0)  # the run's own numbers stay as they are
    return (
        torch.randn(TOKENS, columns, generator=chance),
        torch.randn(rows, columns, generator=chance),
    )


def _there_and_back(
    given: torch.Tensor, weight: torch.Tensor, frozen: bool, *, bf16: bool
) -> tuple[torch.Tensor, ...]:
    moved = [
        tensor.detach().requires_grad_() for tensor in ((given,) if frozen else (given, weight))
    ]
    held = weight if frozen else moved[1]
    with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
        states = F.gelu(F.linear(moved[0], held))
    return torch.autograd.grad(states.sum(), moved)


def _seconds(work: Callable[[], Any], tries: int = 3) -> float:
    """The least CPU time of several tries, after one that is not counted."""
    taken = []
    for _ in range(tries + 1):
        began = time.process_time()
        work()
        taken.append(time.process_time() - began)
    return min(taken[1:])


def _error(given: torch.Tensor, weight: torch.Tensor) -> float:
    exact = F.linear(given.double(), weight.double())
    return float((F.linear(given, weight).double() - exact).norm() / exact.norm())
