"""A mixture of experts out of a dense model: each expert begins as some of its neurons."""

import argparse
from pathlib import Path
from typing import Any

import torch
from transformers import AutoTokenizer, Qwen3ForCausalLM, Qwen3MoeConfig, Qwen3MoeForCausalLM

EXPERTS, USED, WIDTH = 8, 2, 160


@torch.no_grad()
def with_experts(dense: Qwen3ForCausalLM, seed: int = 0) -> Qwen3MoeForCausalLM:
    """Attention, norms and embeddings as they are; experts hold neurons of their layer by chance.

    The neurons of an expert are drawn without putting back and scaled up for those that it lacks,
    so that two experts together say on average what the layer said.
    """
    torch.manual_seed(seed)
    model = Qwen3MoeForCausalLM(_config(dense))
    there = dense.state_dict()
    kept = {name: value for name, value in there.items() if ".mlp." not in name}
    model.load_state_dict(kept, strict=False)
    for layer, own in zip(model.model.layers, dense.model.layers, strict=True):
        neurons = own.mlp.gate_proj.weight.shape[0]
        for number in range(EXPERTS):
            chosen = torch.randperm(neurons)[:WIDTH]
            gate, up = own.mlp.gate_proj.weight[chosen], own.mlp.up_proj.weight[chosen]
            layer.mlp.experts.gate_up_proj[number] = torch.cat([gate, up])
            layer.mlp.experts.down_proj[number] = own.mlp.down_proj.weight[:, chosen] * (
                neurons / WIDTH
            )
    return model


def _config(dense: Qwen3ForCausalLM) -> Qwen3MoeConfig:
    own = dense.config.to_dict()
    # Qwen3's layers and these differ in nothing but what stands in place of the MLP.
    shared: dict[str, Any] = {
        name: own[name]
        for name in (
            "vocab_size",
            "hidden_size",
            "intermediate_size",
            "num_hidden_layers",
            "num_attention_heads",
            "num_key_value_heads",
            "head_dim",
            "rope_parameters",
            "max_position_embeddings",
            "tie_word_embeddings",
            "pad_token_id",
            "eos_token_id",
        )
    }
    return Qwen3MoeConfig(
        **shared,
        num_experts=EXPERTS,
        num_experts_per_tok=USED,
        moe_intermediate_size=WIDTH,
        norm_topk_prob=True,
        router_aux_loss_coef=0.01,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dense", type=Path, help="folder of a dense Qwen3 and its tokenizer")
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    model = with_experts(Qwen3ForCausalLM.from_pretrained(asked.dense, dtype=torch.float32))
    model.save_pretrained(asked.out)
    AutoTokenizer.from_pretrained(asked.dense).save_pretrained(asked.out)


if __name__ == "__main__":
    main()
