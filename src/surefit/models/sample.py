"""What a model writes on its own, drawn from its whole distribution, to be learned from."""

from collections.abc import Sequence
from typing import Any

import torch

from surefit.data.batches import pad
from surefit.data.templates import Tokenizer
from surefit.data.tokens import IGNORED

from .answer import end_ids


@torch.no_grad()
def written_by(
    model: Any,
    tokenizer: Tokenizer,
    prompts: Sequence[Sequence[int]],
    *,
    max_new_tokens: int,
) -> list[dict[str, list[int]]]:
    """Each prompt with what the model writes after it, as a collator wants rows: `input_ids` and
    `labels`, which leave out the prompt. EOS, where it comes, is the last token.

    Drawn at temperature 1 from all tokens. The model is left in the mode it was in.
    """
    from transformers import GenerationConfig

    ids = pad(prompts, tokenizer.pad_token_id, left=True).to(model.device)
    mask = pad([[1] * len(prompt) for prompt in prompts], 0, left=True).to(model.device)
    ends = end_ids(model, tokenizer)
    was_training = model.training
    model.eval()
    try:
        written = model.generate(
            input_ids=ids,
            attention_mask=mask,
            generation_config=GenerationConfig(
                do_sample=True,
                temperature=1.0,
                top_k=0,
                top_p=1.0,
                max_new_tokens=max_new_tokens,
                eos_token_id=ends,
                pad_token_id=tokenizer.pad_token_id,
            ),
        )
    finally:
        model.train(was_training)
    new = written[:, ids.shape[1] :].tolist()
    return [_row(prompt, _ended(one, ends)) for prompt, one in zip(prompts, new, strict=True)]


def _ended(ids: list[int], ends: Sequence[int]) -> list[int]:
    """Up to the first end; what stands behind it is padding."""
    first = next((at for at, token in enumerate(ids) if token in ends), len(ids))
    return ids[: first + 1]


def _row(prompt: Sequence[int], new: list[int]) -> dict[str, list[int]]:
    return {"input_ids": [*prompt, *new], "labels": [IGNORED] * len(prompt) + new}
