"""Answers that a model gives to prompts: greedy, batched, padded on the left."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from surefit.data.batches import pad
from surefit.data.templates import Tokenizer


@torch.no_grad()
def answers(
    model: Any,
    tokenizer: Tokenizer,
    prompts: Sequence[Sequence[int]],
    *,
    max_new_tokens: int,
    batch_size: int,
    each: Callable[[int], object] = lambda _: None,
) -> list[str]:
    """One text a prompt, in their order; the model is left in the mode it was in.

    `each` is told after every batch how many rows it answered.
    """
    # Rows of like length share a batch; sorting cannot change an answer, padding is masked.
    by_length = sorted(range(len(prompts)), key=lambda index: len(prompts[index]))
    texts = [""] * len(prompts)
    was_training = model.training
    model.eval()
    try:
        for start in range(0, len(by_length), batch_size):
            chosen = by_length[start : start + batch_size]
            batch = [prompts[index] for index in chosen]
            for index, text in zip(
                chosen, _batch(model, tokenizer, batch, max_new_tokens), strict=True
            ):
                texts[index] = text
            each(len(chosen))
    finally:
        model.train(was_training)
    return texts


def _batch(
    model: Any, tokenizer: Tokenizer, prompts: Sequence[Sequence[int]], max_new_tokens: int
) -> list[str]:
    from transformers import GenerationConfig

    ids = pad(prompts, tokenizer.pad_token_id, left=True).to(model.device)
    mask = pad([[1] * len(prompt) for prompt in prompts], 0, left=True).to(model.device)
    written = model.generate(
        input_ids=ids,
        attention_mask=mask,
        generation_config=GenerationConfig(
            do_sample=False,
            max_new_tokens=max_new_tokens,
            eos_token_id=_end_ids(model, tokenizer),
            pad_token_id=tokenizer.pad_token_id,
        ),
    )
    new = written[:, ids.shape[1] :]
    texts: list[str] = tokenizer.batch_decode(new, skip_special_tokens=True)
    return [text.strip() for text in texts]


def _end_ids(model: Any, tokenizer: Tokenizer) -> list[int]:
    """EOS and whatever else the model itself was made to stop at."""
    own = getattr(model.generation_config, "eos_token_id", None)
    more = own if isinstance(own, list) else [] if own is None else [own]
    return sorted({tokenizer.eos_token_id, *more})
