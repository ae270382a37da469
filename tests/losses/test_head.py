"""Backbone and head are found in a model as it is, and round adapters."""

import pytest
import torch
from torch import nn

from surefit.losses.head import parts_of, why_inseparable
from tiny_models import MODELS, VOCABULARY, tiny, with_adapters

ONLY_EAGER = {"gemma2"}


@pytest.mark.parametrize("name", sorted(set(MODELS) - {"mamba"}))
def test_hidden_states_times_the_weight_are_logits(name: str) -> None:
    """But for what a config says is done to them afterwards."""
    model = tiny(name, "eager")
    assert why_inseparable(model) is None
    ids = torch.arange(2, 14)[None]
    parts = parts_of(model)
    hidden = parts.backbone(input_ids=ids, use_cache=False)[0]
    logits = nn.functional.linear(hidden, parts.weight, parts.bias)
    if name in {"cohere", "granite"}:
        logits = logits * {"cohere": 0.0625, "granite": 1 / 8}[name]
    if name == "gemma2":
        logits = 30 * (logits / 30).tanh()
    torch.testing.assert_close(model(ids).logits, logits, rtol=1e-4, atol=1e-5)


def test_adapters_in_the_layers_take_part() -> None:
    model = tiny("llama")
    ids = torch.arange(2, 14)[None]
    before = parts_of(model).backbone(input_ids=ids)[0]
    adapted = with_adapters(model)
    assert why_inseparable(adapted) is None
    after = parts_of(adapted).backbone(input_ids=ids)[0]
    assert (after - before).abs().max() > 0.1
    assert parts_of(adapted).weight.shape == (VOCABULARY, 32)


def test_a_model_without_a_head() -> None:
    backbone = tiny("llama").model
    assert why_inseparable(backbone) == "`LlamaModel` has no head apart from its layers"
    assert why_inseparable(nn.Linear(2, 2)) == "`Linear` has no head apart from its layers"


def test_a_head_of_few_bits() -> None:
    model = tiny("llama")
    weight = torch.zeros(VOCABULARY, 32, dtype=torch.uint8)
    model.lm_head.weight = nn.Parameter(weight, requires_grad=False)
    assert why_inseparable(model) == "its head is not a plain linear layer (`Linear`)"
