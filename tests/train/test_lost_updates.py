"""Updates that would round away are foreseen to the weight, as torch's own AdamW loses them."""

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from surefit.data.batches import Batch, PadRows
from surefit.doctor.findings import Finding
from surefit.errors import BadInput
from surefit.losses.next_token import NextTokenLoss
from surefit.models.lora import add_lora
from surefit.train.lost_updates import MOST_LOST, LostUpdates, finding, lost_updates, refused
from surefit.train.preflight import preflight


def some_batch() -> Batch:
    ids = torch.randint(2, 1536, (4, 24), generator=torch.Generator().manual_seed(0))
    return PadRows(pad_id=0)([{"input_ids": row, "labels": row} for row in ids.tolist()])


def weights_of(dtype: torch.dtype, scale: float = 0.05, count: int = 2000) -> nn.Parameter:
    made = torch.Generator().manual_seed(1)
    weights = nn.Parameter((scale * torch.randn(count, generator=made)).to(dtype))
    weights.grad = torch.randn(count, generator=made).to(dtype)
    return weights


def only(parameter: nn.Parameter, learning_rate: float) -> LostUpdates:
    (found,) = lost_updates([parameter], learning_rate)
    return found


def refusal_of(loss_of: nn.Module, learning_rate: float) -> Finding:
    with pytest.raises(BadInput) as caught:
        preflight(loss_of, some_batch(), learning_rate=learning_rate)
    (found,) = caught.value.findings
    return found


@given(
    st.sampled_from([torch.float32, torch.bfloat16, torch.float16]),
    st.floats(-13, -1),
    st.floats(-3, 1),
)
def test_as_many_are_lost_as_adam_really_loses(
    dtype: torch.dtype, rate: float, scale: float
) -> None:
    weights = weights_of(dtype, 10**scale)
    before = weights.detach().clone()
    foreseen = only(weights, 10**rate)
    torch.optim.AdamW([weights], lr=10**rate, weight_decay=0.0).step()
    lost = float((weights == before)[before != 0].float().mean())
    # Adam rounds its own intermediate results to the weights' type, too.
    assert foreseen.share == pytest.approx(lost, abs=0.02)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_the_least_rate_that_is_named_counts(dtype: torch.dtype) -> None:
    weights = weights_of(dtype)
    lost = only(weights, 1e-14)
    assert lost.share == 1.0
    assert refused(lost)
    assert not refused(only(weights, lost.least_rate))
    assert refused(only(weights, lost.least_rate / 1.5))


def test_nothing_is_lost_in_fp32_at_a_usual_rate() -> None:
    assert only(weights_of(torch.float32), 1e-5).share == 0.0


def test_bfloat16_loses_most_at_a_rate_at_which_it_learns_a_fifth() -> None:
    weights = weights_of(torch.bfloat16)
    assert refused(only(weights, 1e-5))
    assert not refused(only(weights, 1e-3))


def test_a_weight_at_zero_takes_any_step() -> None:
    weights = weights_of(torch.float32)
    with torch.no_grad():
        weights[::2] = 0.0
    assert only(weights, 1e-14).share == 1.0, "of those that are not 0"
    assert lost_updates([nn.Parameter(torch.zeros(8))], 1e-14) == []


def test_a_large_tensor_is_sampled_and_counts_by_its_size() -> None:
    large = nn.Parameter(torch.ones(300_000, dtype=torch.bfloat16))
    small = nn.Parameter(torch.full((100_000,), 2.0**-30, dtype=torch.bfloat16))
    (found,) = lost_updates([large, small], 1e-4)
    assert found.share == pytest.approx(0.75, rel=1e-3)


def test_each_type_is_judged_alone() -> None:
    kinds = [weights_of(torch.float32), weights_of(torch.bfloat16)]
    shares = {lost.dtype: lost.share for lost in lost_updates(kinds, 1e-6)}
    assert shares[torch.float32] == 0.0
    assert shares[torch.bfloat16] > 0.9


def test_the_finding_has_the_figures() -> None:
    lost = only(weights_of(torch.bfloat16), 1e-6)
    found = finding(lost)
    assert found.code == "SF166"
    assert found.headline.startswith(f"{lost.share:.1%} of the trainable weights")
    assert "1e-06" in found.headline
    assert "`bfloat16`" in found.headline
    assert "float32" in found.fixes[0].text
    rate = float(found.fixes[1].text.split("--learning-rate ")[1].split(",")[0])
    assert not refused(only(weights_of(torch.bfloat16), rate))


# In preflight


def test_adapters_in_fp32_on_frozen_weights_in_bfloat16_lose_nothing(tiny_model: Any) -> None:
    model = add_lora(tiny_model.bfloat16(), 4, None, 0.0, ("all-linear",))
    assert {p.dtype for p in model.parameters() if p.requires_grad} == {torch.float32}
    preflight(NextTokenLoss(model), some_batch(), learning_rate=1e-4)


def test_all_weights_trained_in_bfloat16_are_refused(tiny_model: Any) -> None:
    found = refusal_of(NextTokenLoss(tiny_model.bfloat16()), 1e-6)
    assert found.rule == "updates-lost"
    share = float(found.headline.split("%")[0]) / 100
    assert share > MOST_LOST


def test_a_rate_that_even_fp32_loses(tiny_model: Any) -> None:
    model = add_lora(tiny_model, 4, None, 0.0, ("all-linear",))
    found = refusal_of(NextTokenLoss(model), 1e-12)
    assert found.rule == "updates-lost"
    assert "`float32`" in found.headline
    assert all("float32" not in fix.text for fix in found.fixes)
    assert all(p.grad is None for p in model.parameters())
