"""Causal models of many architectures: a few thousand random weights, large enough to matter."""

from collections.abc import Callable
from typing import Any

import torch

VOCABULARY = 160

SIZES = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "max_position_embeddings": 128,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 1,
}


def tiny(name: str, attention: str = "sdpa", **settings: Any) -> Any:
    """By the name in `MODELS`, in evaluation mode; the same weights every time."""
    torch.manual_seed(0)
    model = MODELS[name](**settings)
    model.set_attn_implementation(attention)
    if hasattr(model, "set_experts_implementation") and name in {"mixtral", "qwen3-moe"}:
        # The grouped product of experts has no float64.
        model.set_experts_implementation("eager")
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                # As they are made, attention hardly moves anything in a model so narrow.
                parameter.mul_(4)
            else:
                parameter.add_(0.1 * torch.randn_like(parameter))
    return model.eval()


def with_adapters(model: Any, targets: str | list[str] = "all-linear", **settings: Any) -> Any:
    """LoRA with random weights in both halves: with a zero in one, half of all gradients are 0."""
    from peft import LoraConfig, get_peft_model

    convolutions = any(type(module).__name__ == "Conv1D" for module in model.modules())
    config = LoraConfig(
        r=4,
        target_modules=targets,
        fan_in_fan_out=convolutions,
        task_type="CAUSAL_LM",
        **settings,
    )
    adapted = get_peft_model(model, config)
    with torch.no_grad():
        for name, parameter in adapted.named_parameters():
            if "lora_" in name:
                parameter.normal_(std=0.2)
    return adapted


def _qwen3(**settings: Any) -> Any:
    from transformers import Qwen3Config, Qwen3ForCausalLM

    return Qwen3ForCausalLM(Qwen3Config(**(SIZES | {"head_dim": 16} | settings)))


def _llama(**settings: Any) -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    return LlamaForCausalLM(LlamaConfig(**(SIZES | settings)))


def _gpt2(**settings: Any) -> Any:
    from transformers import GPT2Config, GPT2LMHeadModel

    sizes = {"vocab_size": VOCABULARY, "n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 128}
    dropout = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    tokens = {"bos_token_id": 1, "eos_token_id": 1}
    return GPT2LMHeadModel(GPT2Config(**(sizes | dropout | tokens | settings)))


def _phi(**settings: Any) -> Any:
    from transformers import PhiConfig, PhiForCausalLM

    return PhiForCausalLM(PhiConfig(**(SIZES | settings)))


def _mixtral(**settings: Any) -> Any:
    from transformers import MixtralConfig, MixtralForCausalLM

    experts = {"num_local_experts": 4, "num_experts_per_tok": 2}
    return MixtralForCausalLM(MixtralConfig(**(SIZES | experts | settings)))


def _qwen3_moe(**settings: Any) -> Any:
    from transformers import Qwen3MoeConfig, Qwen3MoeForCausalLM

    experts = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 24}
    return Qwen3MoeForCausalLM(Qwen3MoeConfig(**(SIZES | experts | {"head_dim": 16} | settings)))


def _gemma2(**settings: Any) -> Any:
    from transformers import Gemma2Config, Gemma2ForCausalLM

    return Gemma2ForCausalLM(Gemma2Config(**(SIZES | {"head_dim": 16} | settings)))


def _cohere(**settings: Any) -> Any:
    from transformers import CohereConfig, CohereForCausalLM

    return CohereForCausalLM(CohereConfig(**(SIZES | settings)))


def _granite(**settings: Any) -> Any:
    from transformers import GraniteConfig, GraniteForCausalLM

    return GraniteForCausalLM(GraniteConfig(**(SIZES | {"logits_scaling": 8.0} | settings)))


def _mamba(**settings: Any) -> Any:
    from transformers import MambaConfig, MambaForCausalLM

    sizes = {"vocab_size": VOCABULARY, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 4}
    return MambaForCausalLM(MambaConfig(**(sizes | settings)))


def _lfm2(**settings: Any) -> Any:
    from transformers import Lfm2Config, Lfm2ForCausalLM

    layers = {"layer_types": ["conv", "full_attention"]}
    return Lfm2ForCausalLM(Lfm2Config(**(SIZES | layers | settings)))


def _bloom(**settings: Any) -> Any:
    from transformers import BloomConfig, BloomForCausalLM

    sizes = {"vocab_size": VOCABULARY, "hidden_size": 32, "n_layer": 2, "n_head": 2}
    return BloomForCausalLM(BloomConfig(**(sizes | settings)))


MODELS: dict[str, Callable[..., Any]] = {
    "qwen3": _qwen3,
    "llama": _llama,
    "gpt2": _gpt2,
    "phi": _phi,
    "mixtral": _mixtral,
    "qwen3-moe": _qwen3_moe,
    "gemma2": _gemma2,
    "cohere": _cohere,
    "granite": _granite,
    "mamba": _mamba,
    "lfm2": _lfm2,
    "bloom": _bloom,
}
