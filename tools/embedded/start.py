"""Start weights: a Qwen3 that can copy before it has been trained, or plain random ones.

Copying takes two attention layers. In the first, a head looks one place back and writes down which
token stands there. In the second, a head looks for places whose *previous* token is the present
one, and proposes the token found there: what followed last time. A third kind of head, in the first
layer, mixes the last dozen tokens, so that an answer sees its question. Small models take long to
find this by themselves, so it is written by hand; training then changes every weight.
"""

import argparse
from pathlib import Path
from typing import Any

import torch
from transformers import Qwen3Config, Qwen3ForCausalLM

from .tokenizer import LONGEST, VOCABULARY, save_tokenizer

HIDDEN, LAYERS, FEED_FORWARD = 128, 4, 384
HEADS, GROUPS, HEAD_WIDTH = 4, 2, 32
THETA = 1e6
ROW = 192
"""Places in a pretraining row: the distance over which copying must work."""

OWN = slice(0, 63)
"""Dimensions that tell tokens apart."""
CONSTANT = 63
"""A dimension with the same value in every token."""
PREVIOUS = slice(64, 127)
"""Dimensions into which the first layer writes the token before."""

RECENT = 6
"""How many places back the mixture of recent tokens is centred."""
RECENT_GAIN = 0.5


def make_config(layers: int = LAYERS, feed_forward: int = FEED_FORWARD) -> Qwen3Config:
    return Qwen3Config(
        vocab_size=VOCABULARY,
        hidden_size=HIDDEN,
        intermediate_size=feed_forward,
        num_hidden_layers=layers,
        num_attention_heads=HEADS,
        num_key_value_heads=GROUPS,
        head_dim=HEAD_WIDTH,
        rope_parameters={"rope_type": "default", "rope_theta": THETA},
        max_position_embeddings=LONGEST,
        tie_word_embeddings=True,
        pad_token_id=0,
        eos_token_id=1,
        bos_token_id=None,
        attention_dropout=0.0,
        use_cache=True,
    )


def random_start(
    seed: int = 0, layers: int = LAYERS, feed_forward: int = FEED_FORWARD
) -> Qwen3ForCausalLM:
    """The library's own random weights."""
    torch.manual_seed(seed)
    return Qwen3ForCausalLM(make_config(layers, feed_forward))


@torch.no_grad()
def copying_start(
    seed: int = 0, layers: int = LAYERS, feed_forward: int = FEED_FORWARD
) -> Qwen3ForCausalLM:
    """Random weights, save for the heads written by hand in the first two layers."""
    model = random_start(seed, layers, feed_forward)
    table = model.model.embed_tokens.weight
    table.normal_(0, 0.01)
    table[:, OWN].normal_(0, 0.1)
    table[:, CONSTANT] = 0.3
    for layer in model.model.layers:
        layer.self_attn.o_proj.weight.zero_()
        layer.mlp.down_proj.weight.zero_()
    _write_previous_token(model.model.layers[0].self_attn)
    _write_recent_tokens(model.model.layers[0].self_attn)
    _write_what_followed(model.model.layers[1].self_attn)
    return model


def _frequencies() -> torch.Tensor:
    return THETA ** (-torch.arange(0, HEAD_WIDTH, 2) / HEAD_WIDTH)


def _write_previous_token(attention: Any) -> None:
    """Query and key see only the constant; rotary angles make the score peak one place back."""
    half = HEAD_WIDTH // 2
    amplitudes = torch.tensor([0.5, 0.3, 0.15, 0.05]).sqrt()
    angles = _frequencies()[: len(amplitudes)]
    for group in range(GROUPS):
        query, key = torch.zeros(HEAD_WIDTH, HIDDEN), torch.zeros(HEAD_WIDTH, HIDDEN)
        query[: len(amplitudes), CONSTANT] = amplitudes
        key[: len(amplitudes), CONSTANT] = amplitudes * angles.cos()
        key[half : half + len(amplitudes), CONSTANT] = amplitudes * angles.sin()
        _set_head(attention, group, query, key, target=PREVIOUS, gain=1.0)
    attention.q_norm.weight.fill_(2.5)
    attention.k_norm.weight.fill_(2.5)


def _write_recent_tokens(attention: Any) -> None:
    """The second head of each group: a mixture of the last dozen tokens, turned and made small.

    It uses the keys and values of the head before it. Most of its query lies in a rotary pair that
    no key uses, which keeps the scores small and the attention broad.
    """
    half = HEAD_WIDTH // 2
    angles = _frequencies() * (RECENT - 1)
    turned = torch.linalg.qr(torch.randn(OWN.stop, OWN.stop)).Q
    for group in range(GROUPS):
        first = (group * (HEADS // GROUPS) + 1) * HEAD_WIDTH
        query = torch.zeros(HEAD_WIDTH)
        query[half - 1] = 1.0
        for pair, amplitude in ((2, 0.30), (3, 0.40)):
            # the key of pair i points along its frequency: the score peaks RECENT places back
            query[pair] = amplitude * angles[pair].cos()
            query[half + pair] = -amplitude * angles[pair].sin()
        attention.q_proj.weight[first : first + HEAD_WIDTH] = 0
        attention.q_proj.weight[first : first + HEAD_WIDTH, CONSTANT] = query
        attention.o_proj.weight[:, first : first + HEAD_WIDTH] = 0
        for place in range(min(HEAD_WIDTH, OWN.stop - group * HEAD_WIDTH)):
            column = turned[:, group * HEAD_WIDTH + place] * RECENT_GAIN
            attention.o_proj.weight[PREVIOUS, first + place] = column


def _write_what_followed(attention: Any) -> None:
    """Query: this token. Key: the token before. Both through one map into slow rotary pairs."""
    half = HEAD_WIDTH // 2
    slow = [i for i, speed in enumerate(_frequencies().tolist()) if speed * ROW < 1]
    places = slow + [i + half for i in slow]
    width = OWN.stop - OWN.start
    for group in range(GROUPS):
        mapping = torch.linalg.qr(torch.randn(width, len(places))).Q.T
        query, key = torch.zeros(HEAD_WIDTH, HIDDEN), torch.zeros(HEAD_WIDTH, HIDDEN)
        query[places, OWN] = mapping
        key[places, PREVIOUS] = mapping
        _set_head(attention, group, query, key, target=OWN, gain=4.0)
    attention.q_norm.weight.fill_(2.2)
    attention.k_norm.weight.fill_(2.2)


def _set_head(
    attention: Any,
    group: int,
    query: torch.Tensor,
    key: torch.Tensor,
    target: slice,
    gain: float,
) -> None:
    """Writes the first query head of a group; its values are a share of the own dimensions."""
    first = group * (HEADS // GROUPS) * HEAD_WIDTH
    rows = slice(first, first + HEAD_WIDTH)
    group_rows = slice(group * HEAD_WIDTH, (group + 1) * HEAD_WIDTH)
    share = range(group * HEAD_WIDTH, min((group + 1) * HEAD_WIDTH, OWN.stop))
    attention.q_proj.weight[rows] = query
    attention.k_proj.weight[group_rows] = key
    attention.v_proj.weight[group_rows] = 0
    for place, dimension in enumerate(share):
        attention.v_proj.weight[group_rows.start + place, dimension] = 1
        attention.o_proj.weight[target.start + dimension, first + place] = gain


@torch.no_grad()
def copy_accuracy(
    model: Qwen3ForCausalLM, rows: int = 32, length: int = 40, seed: int = 5
) -> float:
    """How often the second half of a twice-told string of random tokens is predicted."""
    chance = torch.Generator().manual_seed(seed)
    once = torch.randint(2, VOCABULARY, (rows, length), generator=chance)
    logits = model(input_ids=torch.cat([once, once], 1)).logits
    guesses = logits[:, length:-1].argmax(-1)
    return float((guesses == once[:, 1:]).float().mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder for weights and tokenizer")
    parser.add_argument("--random", action="store_true", help="no copying layers")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--layers", type=int, default=LAYERS)
    parser.add_argument("--feed-forward", type=int, default=FEED_FORWARD)
    asked = parser.parse_args()
    start = random_start if asked.random else copying_start
    model = start(asked.seed, asked.layers, asked.feed_forward)
    model.save_pretrained(asked.out)
    save_tokenizer(asked.out)
    print(f"copies {copy_accuracy(model):.3f} of unseen random strings")


if __name__ == "__main__":
    main()
