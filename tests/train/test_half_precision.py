"""fp16 and bf16 on a CPU: the arithmetic is that, trained weights are fp32, overflow is skipped."""

import math
from typing import Any

import pytest
import torch

from surefit.data.batches import Batch, PadRows
from surefit.losses.next_token import NextTokenLoss
from surefit.models.lora import add_lora
from surefit.train.device import make_accelerator
from surefit.train.preflight import preflight


def some_batch() -> Batch:
    ids = torch.randint(2, 1536, (4, 24), generator=torch.Generator().manual_seed(0))
    return PadRows(pad_id=0)([{"input_ids": row, "labels": row} for row in ids.tolist()])


@pytest.mark.parametrize(("precision", "kind"), [("bf16", torch.bfloat16), ("fp16", torch.float16)])
def test_steps_in_half_precision(tiny_model: Any, precision: str, kind: torch.dtype) -> None:
    accelerator = make_accelerator(precision)
    model = add_lora(tiny_model.to(kind), 4, None, 0.0, ("all-linear",)).train()
    seen: set[torch.dtype] = set()
    model.get_submodule("base_model.model.model.layers.0.mlp.down_proj").register_forward_hook(
        lambda _, __, out: seen.add(out.dtype)
    )
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    loss_of, stepper = accelerator.prepare(NextTokenLoss(model), optimizer)
    batch = some_batch()
    before, _ = preflight(loss_of, batch, learning_rate=1e-2, backward=accelerator.backward)
    for _ in range(5):
        loss = loss_of(**batch, places=4 * 23)
        accelerator.backward(loss)
        norm = accelerator.clip_grad_norm_(loss_of.parameters(), 1.0)
        assert 0 < float(norm) < 100, "gradients are scaled back before they are shortened"
        stepper.step()
        assert not accelerator.optimizer_step_was_skipped
        stepper.zero_grad()
    assert loss.item() < before - 0.05
    assert seen == {kind}
    assert {p.dtype for p in model.parameters() if p.requires_grad} == {torch.float32}
    assert {p.dtype for p in model.parameters() if not p.requires_grad} == {kind}


def test_a_step_that_overflows_is_skipped_and_the_scale_halved(tiny_model: Any) -> None:
    accelerator = make_accelerator("fp16")
    model = add_lora(tiny_model, 4, None, 0.0, ("all-linear",)).train()
    trained = {n: p for n, p in model.named_parameters() if p.requires_grad}
    optimizer = torch.optim.AdamW(trained.values(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (1 + step))
    loss_of, stepper = accelerator.prepare(NextTokenLoss(model), optimizer)
    accelerator.scaler = stepper.scaler = torch.amp.GradScaler("cpu", init_scale=2.0**40)
    start = {name: parameter.detach().clone() for name, parameter in trained.items()}
    accelerator.backward(loss_of(**some_batch(), places=4 * 23))
    norm = accelerator.clip_grad_norm_(loss_of.parameters(), 1.0)
    assert not math.isfinite(float(norm))
    stepper.step()
    if not accelerator.optimizer_step_was_skipped:
        schedule.step()
    assert accelerator.optimizer_step_was_skipped
    assert schedule.get_last_lr() == [1e-2]
    assert accelerator.scaler.get_scale() == 2.0**39
    for name, parameter in trained.items():
        assert torch.equal(parameter, start[name]), name
