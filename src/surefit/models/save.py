"""Trained weights in the format that `peft` and `transformers` load."""

from pathlib import Path
from typing import Any

from surefit.data.templates import Tokenizer
from surefit.writing import new_folder

from .chatter import without_chatter


def save_trained(model: Any, tokenizer: Tokenizer, path: Path) -> None:
    """The adapter, or the whole model where it was trained whole, and the tokenizer beside it."""
    with new_folder(path) as side, without_chatter():
        _save(model, side)
        tokenizer.save_pretrained(side)


def save_merged(model: Any, adapter: Path, tokenizer: Tokenizer, path: Path) -> None:
    """A plain model with the adapter's weights added into it; `model` is used up."""
    from peft import set_peft_model_state_dict
    from safetensors.torch import load_file

    set_peft_model_state_dict(model, load_file(adapter / "adapter_model.safetensors"))
    with new_folder(path) as side, without_chatter():
        model.merge_and_unload().save_pretrained(side)
        tokenizer.save_pretrained(side)


def _save(model: Any, side: Path) -> None:
    from peft import PeftModel

    if isinstance(model, PeftModel):
        # Adapters leave the embeddings alone; "auto" would ask the hub whether they changed.
        model.save_pretrained(str(side), save_embedding_layers=False)
    else:
        model.save_pretrained(side)
