"""A model and its tokenizer as one GGUF file, for the kinds whose tensors go over as they are."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import torch

from surefit.data.templates import Tokenizer
from surefit.doctor.findings import Fact, Finding, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput

NO_GGUF = refusal("SF150", "no-gguf", "A model cannot be written as a GGUF file.")

ARCHITECTURES = {"qwen2": "QWEN2", "qwen3": "QWEN3"}
"""Model types whose tensors need only other names; llama's want their rows in another order."""

QWEN2_SPLIT = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
"""How the expression begins by which Qwen2 and Qwen3 part a text into words."""


def check_gguf(model_type: str, tokenizer: Tokenizer) -> None:
    """Refuses what cannot be written, before the work."""
    if importlib.util.find_spec("gguf") is None:
        raise BadInput(_refused("The package `gguf` is not installed.", Fix("pip install gguf")))
    known = ", ".join(ARCHITECTURES)
    if model_type not in ARCHITECTURES:
        raise BadInput(
            _refused(
                f"A model of type `{model_type}` is not written as GGUF here.",
                Fix("Export without `--gguf`, and convert the folder with llama.cpp's script."),
                Fact("types that are", known),
            )
        )
    if _way_of_splitting(tokenizer) is None:
        raise BadInput(
            _refused(
                "GGUF does not support the pre-tokenizer of this tokenizer.",
                Fix("Export without `--gguf`, and convert the folder with llama.cpp's script."),
            )
        )


def features_as_gguf() -> Finding:
    return _refused(
        "GGUF files hold language models; a feature model cannot be stored in one.",
        Fix("Export without `--gguf`."),
    )


def write_gguf(model: Any, tokenizer: Tokenizer, file: Path, name: str) -> None:
    """Matrices in fp16 and the rest in fp32, as is usual."""
    import gguf

    config = model.config
    kind = getattr(gguf.MODEL_ARCH, ARCHITECTURES[config.model_type])
    writer = gguf.GGUFWriter(file, gguf.MODEL_ARCH_NAMES[kind])
    writer.add_name(name)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(float(config.rope_parameters["rope_theta"]))
    head = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    writer.add_key_length(head)
    writer.add_value_length(head)
    writer.add_vocab_size(config.vocab_size)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    _add_tokenizer(writer, tokenizer, config.vocab_size)
    names = gguf.get_tensor_name_map(kind, config.num_hidden_layers)
    tied = config.tie_word_embeddings
    for key, tensor in model.state_dict().items():
        if tied and key == "lm_head.weight":
            continue
        as_named = names.get_name(key, try_suffixes=(".weight", ".bias"))
        if as_named is None:
            raise BadInput(_refused(f"GGUF has no name for the tensor `{key}`.", Fix("Report it.")))
        dtype = torch.float16 if tensor.dim() > 1 else torch.float32
        writer.add_tensor(as_named, tensor.to("cpu", dtype).contiguous().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def weights_in_gguf(file: Path, model: Any) -> dict[str, torch.Tensor]:
    """What such a file holds, under the names that the model's own weights have, in fp32."""
    import gguf

    kind = getattr(gguf.MODEL_ARCH, ARCHITECTURES[model.config.model_type])
    names = gguf.get_tensor_name_map(kind, model.config.num_hidden_layers)
    held = {tensor.name: tensor for tensor in gguf.GGUFReader(file).tensors}
    if model.config.tie_word_embeddings:
        held["output.weight"] = held["token_embd.weight"]
    weights = {}
    for key, tensor in model.state_dict().items():
        as_named = names.get_name(key, try_suffixes=(".weight", ".bias"))
        assert as_named is not None  # it was written under that name
        stored = torch.from_numpy(held[as_named].data.copy())
        weights[key] = stored.reshape(tensor.shape).float()
    return weights


def _add_tokenizer(writer: Any, tokenizer: Tokenizer, size: int) -> None:
    import gguf

    content = json.loads(tokenizer.backend_tokenizer.to_str())
    by_id = {number: text for text, number in tokenizer.get_vocab().items()}
    special = set(tokenizer.all_special_ids)
    added = {entry["id"] for entry in content["added_tokens"]}
    texts, types = [], []
    for number in range(size):
        texts.append(by_id.get(number, f"[PAD{number}]"))
        if number not in by_id:
            types.append(gguf.TokenType.UNUSED)
        elif number in special:
            types.append(gguf.TokenType.CONTROL)
        else:
            types.append(gguf.TokenType.USER_DEFINED if number in added else gguf.TokenType.NORMAL)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(_way_of_splitting(tokenizer))
    writer.add_token_list(texts)
    writer.add_token_types(types)
    writer.add_token_merges([" ".join(pair) for pair in content["model"]["merges"]])
    writer.add_eos_token_id(tokenizer.eos_token_id)
    writer.add_pad_token_id(tokenizer.pad_token_id)
    if tokenizer.bos_token_id is not None:
        writer.add_bos_token_id(tokenizer.bos_token_id)
    writer.add_add_bos_token(False)
    if getattr(tokenizer, "chat_template", None):
        writer.add_chat_template(tokenizer.chat_template)


def _way_of_splitting(tokenizer: Tokenizer) -> str | None:
    """llama.cpp's name for it; None of a tokenizer that is not byte-level BPE as one of these."""
    if not getattr(tokenizer, "is_fast", False):
        return None
    content = json.loads(tokenizer.backend_tokenizer.to_str())
    if content["model"]["type"] != "BPE" or not content.get("pre_tokenizer"):
        return None
    before = content["pre_tokenizer"]
    parts = before.get("pretokenizers", [before])
    kinds = [part["type"] for part in parts]
    if kinds == ["ByteLevel"] and parts[0].get("use_regex", True):
        return "gpt-2"
    if kinds == ["Digits", "ByteLevel"] and parts[0]["individual_digits"]:
        return "smollm"
    if kinds == ["Split", "ByteLevel"] and QWEN2_SPLIT in str(parts[0]["pattern"]):
        return "qwen2"
    return None


def _refused(headline: str, fix: Fix, *facts: Fact) -> Finding:
    return NO_GGUF.finding(Place("model"), headline, facts=facts, fixes=[fix])
