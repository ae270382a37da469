"""Packing is refused for a model in which attention crosses packed rows, and for no other."""

import math
from typing import Any

import pytest
import torch

from surefit.doctor.findings import Finding
from surefit.errors import BadInput
from surefit.losses.next_token import NextTokenLoss
from surefit.train.isolation import check_isolation
from tiny_models import VOCABULARY, tiny, with_adapters


def rows(*lengths: int) -> list[dict[str, Any]]:
    random = torch.Generator().manual_seed(1)
    return [
        {"input_ids": torch.randint(2, VOCABULARY, (length,), generator=random).numpy()}
        for length in lengths
    ]


def refused(model: Any, *lengths: int) -> Finding:
    with pytest.raises(BadInput) as caught:
        check_isolation(NextTokenLoss(model), rows(*(lengths or (9, 30, 6))))
    (found,) = caught.value.findings
    return found


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("name", ["qwen3", "llama", "gpt2", "mixtral", "qwen3-moe"])
def test_rows_that_are_blind_to_each_other(name: str, attention: str) -> None:
    check_isolation(NextTokenLoss(tiny(name, attention)), rows(9, 30, 6, 12))


def test_new_adapters_and_a_fallen_back_loss() -> None:
    """A fresh adapter has zeros in one half; an adapter on the head needs the model's own loss."""
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(r=2, target_modules=["q_proj", "lm_head"], task_type="CAUSAL_LM")
    loss_of = NextTokenLoss(get_peft_model(tiny("llama"), config))
    assert loss_of.way == "tokens"
    check_isolation(loss_of, rows(9, 30))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision(dtype: torch.dtype) -> None:
    check_isolation(NextTokenLoss(tiny("llama").to(dtype)), rows(9, 30, 6))


def test_a_convolution_runs_over_the_end_of_a_row() -> None:
    found = refused(tiny("lfm2"))
    assert found.rule == "packed-rows-see-each-other"
    assert "In `Lfm2ForCausalLM` attention crosses packed rows" in found.headline
    assert "the gradients of 3 rows change by" in found.headline
    assert found.facts[0].value == "9 tokens and 16 tokens and 6 tokens"
    assert "`--packing`" in found.fixes[0].text


def test_a_model_that_goes_from_state_to_state() -> None:
    found = refused(tiny("mamba", "eager"))
    assert found.rule == "packed-rows-see-each-other"
    assert "In `MambaForCausalLM` attention crosses packed rows" in found.headline


def test_a_model_without_positions() -> None:
    found = refused(tiny("bloom", "eager"))
    assert found.rule == "packed-rows-see-each-other"
    assert "`BloomForCausalLM`" in found.headline


def test_a_model_that_takes_no_positions_at_all() -> None:
    model = tiny("llama")
    whole = model.model.forward
    model.model.forward = lambda input_ids, use_cache: whole(input_ids, use_cache=use_cache)
    assert "`LlamaForCausalLM` takes no `position_ids`" in refused(model).headline


def test_a_mask_of_ones_undoes_packing() -> None:
    """As a model, or an older transformers, does that makes its own mask."""
    model = tiny("llama")

    def with_mask(_: Any, args: Any, given: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        return args, given | {"attention_mask": torch.ones_like(given["input_ids"])}

    model.model.register_forward_pre_hook(with_mask, with_kwargs=True)
    assert "attention crosses packed rows" in refused(with_adapters(model)).headline


def test_one_row_is_packed_with_itself() -> None:
    check_isolation(NextTokenLoss(tiny("llama")), rows(9))
    refused(tiny("lfm2"), 9)
    check_isolation(NextTokenLoss(tiny("lfm2")), rows(1))


def test_weights_that_are_no_numbers_are_left_to_preflight() -> None:
    model = tiny("llama")
    with torch.no_grad():
        model.model.embed_tokens.weight.fill_(math.nan)
    check_isolation(NextTokenLoss(model), rows(9, 30))


def test_nothing_is_changed() -> None:
    model = with_adapters(tiny("llama"), lora_dropout=0.5).train()
    state = torch.get_rng_state()
    check_isolation(NextTokenLoss(model), rows(9, 30, 6))
    assert torch.equal(torch.get_rng_state(), state)
    assert all(module.training for module in model.modules())
    assert all(p.grad is None for p in model.parameters())
    embedding = model.get_input_embeddings()
    assert not embedding._forward_hooks
