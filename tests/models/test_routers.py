"""Routers are found in every family of mixtures, and in no dense model; what they are led to use
is what they would have used with as many experts."""

from typing import Any

import pytest
import torch

from surefit.models.routers import Augmented, all_experts, balance_loss, find_routers

transformers = pytest.importorskip("transformers", minversion="5")

SMALL = {
    "vocab_size": 40,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "max_position_embeddings": 32,
}
MIXTURES = {
    "mixtral": {"num_local_experts": 4},
    "qwen3_moe": {"num_experts": 4, "moe_intermediate_size": 8, "head_dim": 8},
    "olmoe": {"num_experts": 4},
    "gpt_oss": {"num_local_experts": 4, "head_dim": 8},
    "qwen2_moe": {
        "num_experts": 4,
        "moe_intermediate_size": 8,
        "shared_expert_intermediate_size": 8,
    },
    "deepseek_v3": {
        "n_routed_experts": 4,
        "moe_intermediate_size": 8,
        "n_group": 2,
        "topk_group": 1,
        "first_k_dense_replace": 0,
        "q_lora_rank": 8,
        "kv_lora_rank": 8,
        "qk_rope_head_dim": 8,
        "qk_nope_head_dim": 8,
        "v_head_dim": 8,
    },
}


def made(kind: str, **more: Any) -> Any:
    config = transformers.AutoConfig.for_model(kind, **SMALL, **more)
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        for router in find_routers(model):
            router.module.weight.normal_(0, 0.5)
    return model


@pytest.mark.parametrize("kind", MIXTURES)
def test_every_family_has_a_router_in_each_layer(kind: str) -> None:
    model = made(kind, num_experts_per_tok=2, **MIXTURES[kind])
    routers = find_routers(model)
    assert [(one.experts, one.used) for one in routers] == [(4, 2)] * 2
    assert all(one.module.weight.shape == (4, 16) for one in routers)


@pytest.mark.parametrize("kind", ["llama", "qwen3", "gemma3_text"])
def test_a_dense_model_has_none(kind: str) -> None:
    assert find_routers(made(kind, head_dim=8)) == []


@pytest.mark.parametrize("kind", MIXTURES)
def test_all_experts_have_the_weight_that_the_chosen_had(kind: str) -> None:
    model = made(kind, num_experts_per_tok=2, **MIXTURES[kind])
    (router, *_) = find_routers(model)
    tokens = torch.randn(5, 16)
    _, own, _ = router.module(tokens)
    with all_experts([router]):
        _, weights, experts = router.module(tokens)
    assert experts.tolist() == [[0, 1, 2, 3]] * 5
    torch.testing.assert_close(weights.sum(-1), own.sum(-1))
    assert (weights > 0).all()
    _, again, _ = router.module(tokens)
    assert torch.equal(own, again)


@pytest.mark.parametrize("kind", ["mixtral", "gpt_oss"])
def test_a_router_that_norms_gives_the_whole_softmax(kind: str) -> None:
    model = made(kind, num_experts_per_tok=2, **MIXTURES[kind])
    (router, *_) = find_routers(model)
    with all_experts([router]):
        logits, weights, _ = router.module(torch.randn(5, 16))
    torch.testing.assert_close(weights, logits.softmax(-1).to(weights.dtype))


def test_a_model_runs_with_all_experts_and_is_itself_again() -> None:
    model = made("qwen3_moe", num_experts_per_tok=2, **MIXTURES["qwen3_moe"])
    ids = torch.arange(12).reshape(2, 6)
    own = model(ids).logits
    with all_experts(find_routers(model)):
        with_all = model(ids).logits
    assert not torch.allclose(own, with_all)
    assert torch.equal(model(ids).logits, own)


@pytest.mark.parametrize("chance", [0.0, 1.0])
def test_augmentation_leaves_one_expert_out(chance: float) -> None:
    model = made("mixtral", num_experts_per_tok=2, **MIXTURES["mixtral"])
    routers = find_routers(model)
    tokens = torch.randn(50, 16)
    with all_experts(routers[:1]):
        _, everything, _ = routers[0].module(tokens)
    augmented = Augmented(routers, chance, torch.Generator().manual_seed(0))
    with augmented.once():
        _, weights, experts = routers[0].module(tokens)
    assert experts.shape == (50, 3)
    torch.testing.assert_close(weights.sum(-1), torch.ones(50))
    left_out = [set(range(4)) - set(row) for row in experts.tolist()]
    least = [{int(number)} for number in everything.argmin(-1)]
    assert all(len(one) == 1 for one in left_out)
    assert (left_out == least) == (chance == 0)


def test_balance_is_zero_where_all_is_even() -> None:
    even = torch.zeros(8, 4)
    even[torch.arange(8), torch.arange(8) % 4] = 3.0
    uneven = torch.zeros(8, 4)
    uneven[:, 0] = 3.0
    assert float(balance_loss(even, 1)) == pytest.approx(0, abs=1e-6)
    # All of four experts' tokens fall on one: a variance of 12 over a mean of 2, squared.
    assert float(balance_loss(uneven, 1)) > 3.0
    uneven.requires_grad_()
    balance_loss(uneven, 1).backward()
    assert uneven.grad is not None
    assert (uneven.grad[:, 0] > 0).all()
