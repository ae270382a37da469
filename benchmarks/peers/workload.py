"""The models and the rows that everybody trains on, made once."""

import json
import math
import random
import shutil
from pathlib import Path
from statistics import NormalDist
from typing import Any

VOCABULARY = 151_936
LENGTHS = (45, 515)
MEDIAN = 145
SPREAD = 0.6
SUPERVISED = 0.32
"""The share of a row's tokens that its target has, EOS among them; give or take a third of it."""


def make_qwen3(folder: Path) -> Path:
    """Qwen3 in small with its whole vocabulary, random weights; surefit's embedded tokenizer."""
    if (folder / "model.safetensors").exists():
        return folder
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    from surefit.embedded import MODEL

    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=VOCABULARY,
        hidden_size=256,
        intermediate_size=768,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=64,
        max_position_embeddings=1024,
        tie_word_embeddings=True,
        pad_token_id=0,
        eos_token_id=1,
        bos_token_id=None,
    )
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(Path(str(MODEL)) / name, folder / name)
    Qwen3ForCausalLM(config).save_pretrained(folder)
    return folder


def make_smollm2(folder: Path) -> Path:
    """The real model out of its package, as a folder that every tool can read."""
    if (folder / "model.safetensors").exists():
        return folder
    from surefit.models.load import find_model, load_model, load_tokenizer

    source = find_model("smollm2")
    load_tokenizer(source).save_pretrained(folder)
    load_model(source).save_pretrained(folder)
    return folder


def make_rows(path: Path, count: int, model: Path) -> Path:
    """Rows of words that are one token each; their lengths are spread alike for any count."""
    from tokenizers import Tokenizer

    chance = random.Random(0)
    words = one_token_words(Tokenizer.from_file(str(model / "tokenizer.json")))
    lines = []
    for tokens in chance.sample(lengths(count), count):
        target = max(1, round(tokens * SUPERVISED * chance.uniform(2 / 3, 4 / 3)) - 1)
        # The first word of a text has no space before it and the prompt three tokens behind it.
        given = max(1, tokens - target - 5)
        row = {
            "input": " ".join(chance.choices(words, k=given)),
            "target": " ".join(chance.choices(words, k=target)),
        }
        lines.append(json.dumps(row) + "\n")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(lines), encoding="utf-8")
    return path


def lengths(count: int) -> list[int]:
    """A log-normal distribution between the shortest and the longest, at even distances."""
    spread = NormalDist(math.log(MEDIAN), SPREAD)
    low, high = (spread.cdf(math.log(end)) for end in LENGTHS)
    places = (low + (high - low) * index / (count - 1) for index in range(count))
    return [round(math.exp(spread.inv_cdf(place))) for place in places]


def one_token_words(tokenizer: Any) -> list[str]:
    vocabulary = tokenizer.get_vocab()
    words = sorted(token[1:] for token in vocabulary if token[0] == "Ġ" and token[1:].isalpha())
    return [word for word in words if len(word) > 2 and len(tokenizer.encode(f" {word}").ids) == 1]
