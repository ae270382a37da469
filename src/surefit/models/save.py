"""Trained weights in the format that `peft` and `transformers` load."""

from pathlib import Path
from typing import Any

import torch

from surefit.data.templates import Tokenizer
from surefit.writing import new_folder

from .chatter import without_chatter


def save_trained(
    model: Any, tokenizer: Tokenizer, path: Path, weights: dict[str, torch.Tensor] | None = None
) -> None:
    """The adapter, or the whole model where it was trained whole, and the tokenizer beside it.

    `weights` stand in for the model's own where those are only shards.
    """
    with new_folder(path) as side, without_chatter():
        _save(model, side, {} if weights is None else {"state_dict": weights})
        tokenizer.save_pretrained(side)


def save_merged(base: Any, adapter: Path, tokenizer: Tokenizer, path: Path) -> None:
    """A plain model with the adapter's weights added into it; `base` is used up.

    It is a model loaded anew, whole and in fp32: weights of 4 bits or of one shard take no sum.
    """
    from peft import PeftModel

    adapted = PeftModel.from_pretrained(base, str(adapter))
    with new_folder(path) as side, without_chatter():
        adapted.merge_and_unload().save_pretrained(side)
        tokenizer.save_pretrained(side)


def _save(model: Any, side: Path, more: dict[str, Any]) -> None:
    from peft import PeftModel

    if isinstance(model, PeftModel):
        # Adapters leave the embeddings alone; "auto" would ask the hub whether they changed.
        model.save_pretrained(str(side), save_embedding_layers=False, **more)
    else:
        model.save_pretrained(side, **more)
