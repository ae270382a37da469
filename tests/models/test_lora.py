"""Adapters go where they were asked to go, or a finding says what names there are."""

from typing import Any

import pytest
import torch
from torch import nn

from surefit.doctor.findings import Finding
from surefit.errors import BadInput
from surefit.models.load import find_model, load_model, round_layers
from surefit.models.lora import ALL_LINEAR, add_lora, count_trainable, sum_in_fp32


@pytest.fixture
def gpt2() -> Any:
    """Its layers are `Conv1D`, whose weights lie the other way round."""
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=50, n_positions=16, n_embd=8, n_layer=2, n_head=2, bos_token_id=1, eos_token_id=1
    )
    return GPT2LMHeadModel(config)


def attach(model: Any, *targets: str, rank: int = 4, alpha: int | None = None) -> Any:
    return add_lora(model, rank, alpha, 0.0, targets)


def adapted(model: nn.Module) -> set[str]:
    """Layers that have an adapter, by their names in the model without one."""
    names = {name.split(".lora_A")[0] for name, _ in model.named_modules() if ".lora_A." in name}
    return {name.removeprefix("base_model.model.") for name in names}


def refusal_of(model: Any, *targets: str) -> Finding:
    before = [(name, p.requires_grad) for name, p in model.named_parameters()]
    with pytest.raises(BadInput) as caught:
        attach(model, *targets)
    assert [(name, p.requires_grad) for name, p in model.named_parameters()] == before
    (found,) = caught.value.findings
    assert found.rule == "adapter-targets-match-nothing"
    return found


def test_all_linear_is_every_linear_layer_but_the_head(tiny_model: Any) -> None:
    linear = {name for name, part in tiny_model.named_modules() if isinstance(part, nn.Linear)}
    assert "lm_head" in linear
    assert adapted(attach(tiny_model, ALL_LINEAR)) == linear - {"lm_head"}


def test_named_layers_and_no_others(tiny_model: Any) -> None:
    found = adapted(attach(tiny_model, "q_proj", "v_proj"))
    assert found == {
        f"model.layers.{layer}.self_attn.{name}"
        for layer in (0, 1)
        for name in ("q_proj", "v_proj")
    }


def test_one_layer_by_its_whole_name(tiny_model: Any) -> None:
    name = "model.layers.1.mlp.up_proj"
    assert adapted(attach(tiny_model, name)) == {name}


def test_only_adapters_are_trained_and_they_are_counted(tiny_model: Any) -> None:
    before = sum(p.numel() for p in tiny_model.parameters())
    model = attach(tiny_model, "q_proj", rank=4)
    trained = 2 * (4 * 32 + 32 * 4)  # two layers, 32 -> 32, A and B of rank 4
    counted = count_trainable(model)
    assert (counted.trained, counted.all) == (trained, before + trained)
    assert counted.share == trained / (before + trained)
    assert all("lora_" in name for name, p in model.named_parameters() if p.requires_grad)


def test_all_weights_are_trained_without_adapters(tiny_model: Any) -> None:
    assert count_trainable(tiny_model).share == 1


@pytest.mark.parametrize(("alpha", "scale"), [(None, 2.0), (4, 1.0), (16, 4.0)])
def test_alpha_is_twice_the_rank_unless_given(
    tiny_model: Any, alpha: int | None, scale: float
) -> None:
    model = attach(tiny_model, "q_proj", rank=4, alpha=alpha)
    layer = model.base_model.model.model.layers[0].self_attn.q_proj
    assert layer.scaling == {"default": scale}


def test_dropout_reaches_the_adapter(tiny_model: Any) -> None:
    model = add_lora(tiny_model, 4, None, 0.25, ("q_proj",))
    layer = model.base_model.model.model.layers[0].self_attn.q_proj
    assert layer.lora_dropout["default"].p == 0.25


def test_fresh_adapters_change_nothing_and_start_by_the_seed(tiny_model: Any) -> None:
    ids = torch.tensor([[5, 6, 7]])
    before = tiny_model(ids).logits.detach()
    torch.manual_seed(1)
    model = attach(tiny_model, ALL_LINEAR)
    torch.testing.assert_close(model(ids).logits.detach(), before)
    first = {n: p.detach().clone() for n, p in model.named_parameters() if p.requires_grad}
    bare = model.unload()
    torch.manual_seed(1)
    again = attach(bare, ALL_LINEAR)
    for name, weight in again.named_parameters():
        assert name not in first or torch.equal(weight, first[name])


def test_a_target_that_matches_nothing(tiny_model: Any) -> None:
    found = refusal_of(tiny_model, "q_prj", "v_proj")
    assert "`q_prj`" in found.headline
    assert "v_proj" not in found.headline
    names = found.facts[0].value.split(", ")
    assert {"q_proj", "k_proj", "v_proj", "o_proj", "down_proj", "lm_head"} <= set(names)
    assert found.fixes[0].text == "Take the nearest names:  --lora-targets q_proj v_proj"
    assert found.fixes[-1].text.endswith("--lora-targets all-linear")


def test_a_target_like_none(tiny_model: Any) -> None:
    found = refusal_of(tiny_model, "zzzz")
    assert [fix.text for fix in found.fixes] == ["Or train all of them:  --lora-targets all-linear"]


def test_a_part_of_a_name_is_not_a_name(tiny_model: Any) -> None:
    """`proj` would be found by a search in the names, and adapters by none."""
    assert "`proj`" in refusal_of(tiny_model, "proj").headline


def test_a_block_is_no_layer(tiny_model: Any) -> None:
    assert "`mlp`" in refusal_of(tiny_model, "mlp").headline


@pytest.mark.parametrize("targets", [(ALL_LINEAR,), ("c_attn",)])
def test_gpt2s_layers_take_adapters_and_learn(gpt2: Any, targets: tuple[str, ...]) -> None:
    model = attach(gpt2, *targets)
    assert {"transformer.h.0.attn.c_attn", "transformer.h.1.attn.c_attn"} <= adapted(model)
    ids = torch.tensor([[5, 6, 7, 8]])
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.5)
    losses = []
    for _ in range(6):
        loss = model(input_ids=ids, labels=ids).loss
        losses.append(float(loss.detach()))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert losses[-1] < losses[0] - 1e-3


def test_gpt2s_names_are_listed(gpt2: Any) -> None:
    found = refusal_of(gpt2, "q_proj")
    assert "c_attn" in found.facts[0].value


def test_what_an_adapter_adds_at_first_is_not_rounded_away() -> None:
    """After a step of 1e-4 an output in bf16 is the nearest number still, and nothing was added."""
    torch.manual_seed(0)
    model = load_model(find_model("embedded"))
    round_layers(model, torch.bfloat16)
    model = add_lora(model, 8, None, 0.0, ("down_proj",))
    (layer, *_) = (one for one in model.modules() if hasattr(one, "lora_A"))
    torch.nn.init.uniform_(layer.lora_B["default"].weight, -1e-4, 1e-4)
    states = torch.randn(1, 16, layer.in_features)

    def added() -> torch.Tensor:
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
            both: torch.Tensor = layer(states).double()
            without: torch.Tensor = layer.base_layer(states).double()
            return (both - without).flatten()

    with torch.no_grad():
        to_weight = layer.lora_B["default"].weight @ layer.lora_A["default"].weight
        exact = (layer.scaling["default"] * states @ to_weight.T).double().flatten()
    assert ((added() - exact).norm() / exact.norm()) > 0.5
    sum_in_fp32(model)
    assert ((added() - exact).norm() / exact.norm()) < 0.01
