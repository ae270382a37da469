"""A loss that would not be the model's own is not used, and the user is told why."""

import math
from typing import Any

import pytest
import torch
from torch import nn

from surefit.data.batches import Batch
from surefit.losses.next_token import NextTokenLoss, Way
from surefit.train.own_loss import TOKENS, apart, compare, settle_loss
from tiny_models import VOCABULARY, tiny, with_adapters


def some_batch(rows: int = 3, tokens: int = 24) -> Batch:
    random = torch.Generator().manual_seed(0)
    ids = torch.randint(2, VOCABULARY, (rows, tokens), generator=random)
    return {"input_ids": ids, "labels": ids, "attention_mask": torch.ones_like(ids)}


def settled(model: Any) -> tuple[Way, str]:
    loss_of = NextTokenLoss(model)
    said = settle_loss(loss_of, some_batch())
    return loss_of.way, said or ""


@pytest.mark.parametrize("adapters", [False, True], ids=["full", "adapters"])
@pytest.mark.parametrize("name", ["qwen3", "llama", "gpt2", "phi"])
def test_a_plain_head_stays_lean_in_silence(name: str, adapters: bool) -> None:
    model = tiny(name)
    assert settled(with_adapters(model) if adapters else model) == ("chunks", "")


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_plain_head_in_half_precision_too(dtype: torch.dtype) -> None:
    assert settled(with_adapters(tiny("llama")).to(dtype)) == ("chunks", "")


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("gemma2", "`final_logit_softcapping` 30.0"),
        ("cohere", "`logit_scale` 0.0625"),
        ("granite", "`logits_scaling` 8.0"),
    ],
)
def test_a_model_that_changes_its_logits_falls_back_aloud(name: str, found: str) -> None:
    model = with_adapters(tiny(name, "eager"))
    way, said = settled(model)
    assert way == "places"
    assert said.startswith(
        "The loss is computed from the model's own logits of supervised tokens, because "
    )
    assert found in said
    own = compare(NextTokenLoss(model), "chunks", some_batch()).own
    assert f"on {TOKENS} tokens the model's own loss is {own:.6f}" in said


def test_a_cap_that_does_not_show_yet_is_found_by_its_name() -> None:
    """Logits near 0 are hardly capped; training makes them grow."""
    model = tiny("gemma2", "eager")
    with torch.no_grad():
        model.lm_head.weight.mul_(1e-3)
    found = compare(NextTokenLoss(model), "chunks", some_batch())
    assert found.own == pytest.approx(found.lean, rel=1e-6)
    assert settled(model)[0] == "places"


def test_a_change_that_no_config_names_is_found_by_comparison() -> None:
    model = tiny("llama")
    model.lm_head.register_forward_hook(lambda _, __, logits: 1.01 * logits)
    way, said = settled(model)
    assert way == "places"
    assert said.startswith(
        "The loss is computed from the model's own logits of supervised tokens, because "
    )
    assert "; gradients differ by 0.99%" in said


def test_a_loss_that_agrees_with_gradients_that_do_not() -> None:
    """The same number on the way there, nothing on the way back."""
    model = tiny("llama")
    model.lm_head.register_forward_hook(lambda _, __, logits: 0.5 * logits + 0.5 * logits.detach())
    found = compare(NextTokenLoss(model), "chunks", some_batch())
    assert found.own == pytest.approx(found.lean, rel=1e-6)
    assert found.apart == pytest.approx(1.0, rel=1e-3)
    assert settled(model)[0] == "places"


@pytest.mark.parametrize(
    ("how", "found"),
    [
        ({"targets": ["q_proj", "lm_head"]}, "its head has an adapter (`Linear`)"),
        ({"targets": ["q_proj"], "modules_to_save": ["lm_head"]}, "its head has an adapter"),
    ],
)
def test_an_adapter_on_the_head_is_not_passed_over(how: dict[str, Any], found: str) -> None:
    model = with_adapters(tiny("llama"), **how)
    assert NextTokenLoss(model).way == "tokens", "known without a comparison"
    way, said = settled(model)
    assert way == "places"
    assert said.startswith(
        "The loss is computed from the model's own logits of supervised tokens, because "
    )
    assert found in said
    ids = some_batch()["input_ids"]
    NextTokenLoss(model)(input_ids=ids, labels=ids, places=1).backward()
    trained = {n: p.grad for n, p in model.named_parameters() if p.requires_grad}
    on_the_head = [grad for name, grad in trained.items() if "lm_head" in name]
    assert on_the_head
    assert all(grad is not None and grad.any() for grad in on_the_head)


def test_a_head_that_is_no_linear_layer() -> None:
    model = tiny("llama")
    model.lm_head = nn.Sequential(model.lm_head, nn.Tanh())
    way, said = settled(model)
    assert way == "places"
    assert said.startswith(
        "The loss is computed from the model's own logits of supervised tokens, because "
    )
    assert "its head is not a plain linear layer (`Sequential`)" in said


def test_logits_that_are_made_of_their_neighbours() -> None:
    """As a convolution behind the head would: supervised places alone are not enough."""
    model = tiny("llama")
    model.lm_head.register_forward_hook(lambda _, __, logits: logits + logits.roll(1, dims=1))
    way, said = settled(model)
    assert way == "tokens"
    assert said.startswith(
        "The loss is computed from the model's own logits of all tokens, because "
    )


def test_a_model_without_a_head_of_its_own() -> None:
    model = tiny("llama")
    model.get_output_embeddings = lambda: None
    way, said = settled(model)
    assert way == "tokens"
    assert "`LlamaForCausalLM` has no head apart from its layers" in said


def test_a_gradient_that_is_only_rounding_decides_nothing() -> None:
    """Softmax does not feel the bias of a key, so that its gradient is noise."""
    model = tiny("phi")
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name.endswith(("k_proj.bias", "q_proj.bias", "v_proj.bias")))
    assert settled(model) == ("chunks", "")
    ones = [torch.ones(4), torch.tensor([1e-9])]
    assert apart(ones, [torch.ones(4), torch.tensor([-1e-9])]) < 1e-8
    assert apart(ones, [-torch.ones(4), torch.tensor([1e-9])]) == pytest.approx(2)
    assert apart([torch.zeros(2)], [torch.zeros(2)]) == 0
    assert apart([torch.zeros(2)], [torch.ones(2)]) == 1


def test_a_batch_of_short_rows_is_taken_together() -> None:
    """A loss over no place would agree with anything."""
    model = tiny("cohere")
    model.config.logit_scale = None
    loss_of = NextTokenLoss(model)
    ids = torch.arange(2, 12).reshape(5, 2)
    said = settle_loss(loss_of, {"input_ids": ids, "labels": ids})
    assert loss_of.way == "places"
    assert "on 8 tokens" in (said or "")


def test_weights_that_are_no_numbers_are_left_to_preflight() -> None:
    model = tiny("llama")
    with torch.no_grad():
        model.model.embed_tokens.weight.fill_(math.nan)
    assert settled(model) == ("chunks", "")


def test_nothing_is_changed() -> None:
    model = with_adapters(tiny("llama"), lora_dropout=0.5).train()
    model.base_model.model.model.norm.eval()
    modes = {name: module.training for name, module in model.named_modules()}
    first = next(p for p in model.parameters() if p.requires_grad)
    first.grad = torch.ones_like(first)
    state = torch.get_rng_state()
    assert settled(model) == ("chunks", "")
    assert torch.equal(torch.get_rng_state(), state)
    assert {name: module.training for name, module in model.named_modules()} == modes
    assert first.grad.eq(1).all()
    assert sum(p.grad is not None for p in model.parameters()) == 1


def test_it_is_tried_on_a_few_tokens_of_one_row() -> None:
    seen = []
    model = tiny("llama")
    model.lm_head.register_forward_hook(lambda _, __, logits: seen.append(logits.shape))
    settle_loss(NextTokenLoss(model), some_batch(rows=4, tokens=100))
    assert seen == [(1, TOKENS, VOCABULARY)]
