"""Products in fp32 by the faster of two libraries, and bf16 where it is faster still."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn

from surefit.train import arithmetic
from surefit.train.arithmetic import (
    choose_products,
    known_precision,
    measured_precision,
    products_put_back,
    times_as_fast_in_bf16,
)


@pytest.fixture(autouse=True)
def put_back(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(arithmetic, "TINY", 0)
    with products_put_back():
        yield


@pytest.fixture
def model() -> nn.Module:
    return nn.Sequential(nn.Embedding(50, 8), nn.Linear(8, 300), nn.Linear(300, 8))


def taking(*seconds: float) -> Callable[[Callable[[], Any]], float]:
    """In place of a clock: what is measured takes so long, one after the other."""
    left = iter(seconds)
    return lambda work: (work(), next(left))[1]


def test_products_stay_exact_whatever_this_cpu_has(model: nn.Module) -> None:
    choose_products(model)
    given, weight = arithmetic._matrices(model)
    assert arithmetic._error(given, weight) < 1e-6


def test_the_faster_way_is_taken_for_as_long_as_the_run(
    model: nn.Module, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arithmetic, "_seconds", taking(2.0, 1.0))
    monkeypatch.setattr(arithmetic, "_error", lambda *_: 3e-7)
    with products_put_back():
        assert choose_products(model) == 2.0
        assert torch.get_float32_matmul_precision() == "medium"
    assert torch.get_float32_matmul_precision() == "highest"


@pytest.mark.parametrize(("other", "error"), [(0.5, 2e-3), (0.9, 3e-7)])
def test_one_that_rounds_or_is_hardly_faster_is_not(
    model: nn.Module, monkeypatch: pytest.MonkeyPatch, other: float, error: float
) -> None:
    monkeypatch.setattr(arithmetic, "_seconds", taking(1.0, other))
    monkeypatch.setattr(arithmetic, "_error", lambda *_: error)
    assert choose_products(model) is None
    assert torch.get_float32_matmul_precision() == "highest"


def test_what_the_user_chose_is_left(model: nn.Module) -> None:
    torch.set_float32_matmul_precision("high")
    assert choose_products(model) is None
    assert torch.get_float32_matmul_precision() == "high"


def test_tiny_models_are_left_as_they_are(
    model: nn.Module, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is measured: the same run has the same numbers wherever it is made."""
    monkeypatch.setattr(arithmetic, "TINY", 10**6)
    monkeypatch.setattr(arithmetic, "_seconds", lambda _: pytest.fail("it was measured"))
    assert choose_products(model) is None
    assert measured_precision(model, frozen=True) == "fp32"


@pytest.mark.parametrize(("seconds", "precision"), [((1.0, 0.5), "bf16"), ((1.0, 0.9), "fp32")])
def test_bf16_where_it_is_clearly_faster(
    model: nn.Module, monkeypatch: pytest.MonkeyPatch, seconds: tuple[float, ...], precision: str
) -> None:
    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: True)
    monkeypatch.setattr(arithmetic, "_seconds", taking(*seconds))
    assert measured_precision(model, frozen=False) == precision


def test_measuring_leaves_no_trace(model: nn.Module) -> None:
    before, weights = torch.get_rng_state(), [p.clone() for p in model.parameters()]
    for frozen in (True, False):
        times_as_fast_in_bf16(model, frozen=frozen)
    choose_products(model)
    assert torch.equal(torch.get_rng_state(), before)
    assert all(map(torch.equal, model.parameters(), weights))
    assert all(parameter.grad is None for parameter in model.parameters())


def test_it_is_tried_at_the_size_that_most_weights_have() -> None:
    model = nn.ModuleList([nn.Linear(40, 2000), *(nn.Linear(30, 3) for _ in range(4))])
    given, weight = arithmetic._matrices(model)
    assert (given.shape[1], weight.shape) == (40, (arithmetic.WIDEST, 40))


def test_a_gpu_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    assert known_precision("fp16") == "fp16"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert known_precision("auto") is None
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    for has, precision in ((True, "bf16"), (False, "fp32")):
        monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda has=has: has)
        assert known_precision("auto") == precision
