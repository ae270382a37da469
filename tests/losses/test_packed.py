"""Packed rows give the gradients of rows alone; the loss would hide that they see each other."""

from typing import Any

import pytest
import torch

from surefit.data.batches import Batch, PadRows
from surefit.data.packing import PackRows
from surefit.data.tokens import IGNORED
from surefit.losses.next_token import NextTokenLoss
from surefit.losses.places import supervised_places
from tiny_models import VOCABULARY, tiny, with_adapters

TARGETS: dict[str, str | list[str]] = {
    "mixtral": ["q_proj", "k_proj", "v_proj", "o_proj"],
    "qwen3-moe": ["q_proj", "k_proj", "v_proj", "o_proj"],
}


def rows() -> list[dict[str, list[int]]]:
    random = torch.Generator().manual_seed(5)
    made = []
    for length, answer in [(11, 4), (2, 1), (17, 16), (1, 0), (6, 5), (9, 3)]:
        ids = torch.randint(2, VOCABULARY, (length,), generator=random).tolist()
        made.append({"input_ids": ids, "labels": [IGNORED] * (length - answer) + ids[-answer:]})
        made[-1]["labels"] = made[-1]["labels"][:length]
    return made


def gradients(model: Any, batches: list[Batch]) -> dict[str, torch.Tensor]:
    model.zero_grad(set_to_none=True)
    loss_of = NextTokenLoss(model)
    places = sum(supervised_places(batch["labels"]) for batch in batches)
    for batch in batches:
        loss_of(**batch, places=places).backward()
    return {name: p.grad for name, p in model.named_parameters() if p.grad is not None}


def apart(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> float:
    """The largest difference of any tensor, as a share of that tensor's largest number."""
    assert one.keys() == other.keys()
    return max(
        ((one[name] - other[name]).abs().max() / one[name].abs().max()).item() for name in one
    )


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("name", ["qwen3", "llama", "gpt2", "mixtral", "qwen3-moe", "phi"])
def test_gradients_of_packed_rows_are_those_of_rows_alone(name: str, attention: str) -> None:
    model = with_adapters(tiny(name, attention), TARGETS.get(name, "all-linear")).double().train()
    pad, pack = PadRows(pad_id=0), PackRows()
    alone = gradients(model, [pad([row]) for row in rows()])
    assert all(gradient.any() for gradient in alone.values())
    packed = gradients(model, [pack(rows()[:4]), pack(rows()[4:])])
    padded = gradients(model, [pad(rows())])
    # Rotary angles and the softmax of eager attention are fp32 in any model.
    assert apart(alone, packed) < 1e-5
    assert apart(alone, padded) < 1e-5
    together = pack(rows())
    # A mask of ones is all it takes for rows to see each other.
    together["attention_mask"] = torch.ones_like(together["input_ids"])
    assert apart(alone, gradients(model, [together])) > 0.05
