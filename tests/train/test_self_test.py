"""All holds here; and whatever is broken on purpose is seen by the try that is there for it."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch
from accelerate import Accelerator
from torch import nn

from surefit.losses.cross_entropy import head_cross_entropy
from surefit.losses.distillation import Distilled, head_distillation
from surefit.losses.divergence import OBJECTIVES
from surefit.losses.places import Places
from surefit.train import self_test, self_test_losses
from surefit.train.device import make_accelerator
from surefit.train.self_test import finding
from surefit.train.tried import Tried, drawn


def failed(one: self_test.Try, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of what does not hold, if this is all that is tried."""
    monkeypatch.setattr(self_test, "TRIES", (one,))
    return [tried.name for tried in self_test.self_test() if not tried.held]


def test_all_holds_here() -> None:
    done = list(self_test.self_test())
    assert [str(tried) for tried in done if not tried.held] == []
    assert len({tried.name for tried in done}) == len(done) == 38
    lines = {tried.name: str(tried) for tried in done}
    assert lines["chunked cross entropy = naive, fp32"].startswith("ok   chunked cross entropy")
    assert lines["chunked cross entropy = naive, fp32"].endswith(" (at most 1e-05)")
    assert "scale 65536 -> 32768, counted as skipped" in lines["a step that overflows is skipped"]
    assert "held in bf16 3.1% would" in lines["weights move at 5e-06 in a run in bf16"]


def test_a_view_that_copies_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.Tensor, "view", torch.Tensor.reshape)
    assert failed(self_test.views_of_slices, monkeypatch) == ["view of labels[:, 1:]"]


def test_a_reshape_of_other_values_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    true = torch.Tensor.reshape

    def flat(tensor: torch.Tensor, *shape: int) -> torch.Tensor:
        """As if a slice lay end to end in memory."""
        made = true(tensor, *shape)
        if tensor.is_contiguous():
            return made
        return torch.as_strided(tensor, made.shape, (33, 1))

    monkeypatch.setattr(torch.Tensor, "reshape", flat)
    names = [f"reshape of a slice = contiguous().view, {kind}" for kind in ("fp32", "bf16", "fp16")]
    assert failed(self_test.views_of_slices, monkeypatch) == names


class NeverSkips(torch.amp.GradScaler):
    """Takes every step, overflow or not."""

    def _maybe_opt_step(self, optimizer: Any, *_others: Any, **_named: Any) -> Any:
        return optimizer.step()


@pytest.mark.parametrize(
    ("scaler", "names"),
    [
        (NeverSkips, ["a step that overflows is skipped"]),
        (
            partial(torch.amp.GradScaler, backoff_factor=0.9),
            ["a step that overflows is skipped"],
        ),
        (
            partial(torch.amp.GradScaler, init_scale=1.0),
            ["the scaler multiplies gradients"],
        ),
        (
            partial(torch.amp.GradScaler, growth_interval=1),
            ["a finite step is taken"],
        ),
    ],
    ids=["never skips", "does not halve", "does not scale", "grows at once"],
)
def test_a_broken_scaler_is_seen(
    scaler: Callable[[str], Any], names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    true = make_accelerator

    def make(precision: str) -> Accelerator:
        made = true(precision)
        made.scaler = scaler("cpu")
        return made

    monkeypatch.setattr(self_test, "make_accelerator", make)
    assert failed(self_test.gradient_scaler, monkeypatch) == names


def test_gradients_that_stay_scaled_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Accelerator, "clip_grad_norm_", lambda *_: None)
    names = failed(self_test.gradient_scaler, monkeypatch)
    assert names == ["unscaled gradients = those without a scaler"]


def test_fp32_under_another_name_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    true = make_accelerator
    monkeypatch.setattr(self_test, "make_accelerator", lambda _: true("fp32"))
    names = failed(self_test.autocast, monkeypatch)
    assert names == ["autocast computes in bf16", "autocast computes in fp16"]


def test_weights_held_in_half_precision_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nn, "Linear", partial(nn.Linear, dtype=torch.bfloat16))
    monkeypatch.setattr(self_test, "drawn", lambda *shape, **how: _bf16(*shape, **how))
    (first, *_) = failed(self_test.weights_move, monkeypatch)
    assert first == "weights move at 5e-06 in a run in bf16"


def _bf16(*shape: int, **how: Any) -> torch.Tensor:
    return drawn(*shape, **how).to(torch.bfloat16)


@pytest.mark.parametrize("wrong", [1.001, torch.nan])
def test_a_wrong_cross_entropy_is_seen(wrong: float, monkeypatch: pytest.MonkeyPatch) -> None:
    true = head_cross_entropy
    monkeypatch.setattr(self_test_losses, "head_cross_entropy", lambda *call: true(*call) * wrong)
    names = failed(self_test_losses.cross_entropy_in_chunks, monkeypatch)
    assert "chunked cross entropy = naive, fp32" in names


def test_masked_places_that_count_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def all_places(labels: torch.Tensor) -> Places:
        index = torch.arange(labels.numel())
        return Places(index, labels.flatten().clamp_min(0))

    monkeypatch.setattr(self_test_losses, "find_places", all_places)
    names = failed(self_test_losses.cross_entropy_in_chunks, monkeypatch)
    assert "masked places have no gradient, fp32" in names
    assert "chunked cross entropy = naive, bf16" in names


def of_value(found: Distilled) -> Distilled:
    return replace(found, loss=found.loss + 0.1)


def of_gradient(found: Distilled) -> Distilled:
    return replace(found, loss=found.loss * 1.1 - 0.1 * found.loss.detach())


def of_no_number(found: Distilled) -> Distilled:
    return replace(found, loss=found.loss * torch.nan)


@pytest.mark.parametrize("change", [of_value, of_gradient, of_no_number])
def test_a_wrong_distillation_is_seen(
    change: Callable[[Distilled], Distilled], monkeypatch: pytest.MonkeyPatch
) -> None:
    true = head_distillation
    monkeypatch.setattr(self_test_losses, "head_distillation", lambda *call: change(true(*call)))
    names = failed(self_test_losses.distillation_in_chunks, monkeypatch)
    assert {name for name in names if name.endswith("fp32")} == {
        f"chunked {objective} = naive, fp32" for objective in OBJECTIVES
    }


def test_a_divergence_that_is_never_zero_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    true = head_distillation

    def made(*call: Any) -> Distilled:
        found = true(*call)
        return replace(found, divergence=found.divergence + 0.01)

    monkeypatch.setattr(self_test_losses, "head_distillation", made)
    assert len(failed(self_test_losses.divergence_of_itself, monkeypatch)) == 5


def test_a_try_that_raises_an_error_has_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_such_kernel(_device: torch.device) -> Any:
        raise RuntimeError("not implemented for 'Half'\nand much more")

    monkeypatch.setattr(self_test, "TRIES", (no_such_kernel, self_test.views_of_slices))
    first, *others = self_test.self_test()
    assert str(first).startswith("FAIL no such kernel")
    assert first.measured == "RuntimeError: not implemented for 'Half'"
    assert len(others) == 4
    found = finding(first)
    assert (found.code, found.rule) == ("SF079", "self-test-failed")


def test_a_finding_has_the_figures() -> None:
    tried = Tried("chunked loss = naive loss", "relative difference 0.3", "at most 1e-05", False)
    assert finding(tried).headline == (
        "Chunked loss = naive loss: relative difference 0.3, but expected: at most 1e-05."
    )
