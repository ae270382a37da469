"""Answers that a model gives to prompts: greedy, batched, padded on the left."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from surefit.data.batches import pad
from surefit.data.templates import Tokenizer


@dataclass(frozen=True, slots=True)
class Share:
    """Which of the batches this process answers: every `world`-th, from its own number on."""

    rank: int = 0
    world: int = 1
    in_step: bool = False
    """Every forward pass needs all processes, as those of a sharded model do."""


ALL = Share()


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
    texts = shared_answers(
        model,
        tokenizer,
        prompts,
        max_new_tokens=max_new_tokens,
        batch_size=batch_size,
        each=each,
    )
    return [texts[index] for index in range(len(prompts))]


@torch.no_grad()
def shared_answers(
    model: Any,
    tokenizer: Tokenizer,
    prompts: Sequence[Sequence[int]],
    *,
    max_new_tokens: int,
    batch_size: int,
    share: Share = ALL,
    each: Callable[[int], object] = lambda _: None,
) -> dict[int, str]:
    """The text of every prompt that is this process's, by its place among all.

    The batches are those of one process. `each` is told after every round, in which each process
    answers one batch at most, how many rows they answered together: equally often on all.
    """
    # Rows of like length share a batch; sorting cannot change an answer, padding is masked.
    lengths = [len(prompt) for prompt in prompts]
    by_length = sorted(range(len(prompts)), key=lengths.__getitem__)
    batches = [by_length[at : at + batch_size] for at in range(0, len(by_length), batch_size)]
    texts: dict[int, str] = {}
    was_training = model.training
    model.eval()
    try:
        for start in range(0, len(batches), share.world):
            together = batches[start : start + share.world]
            own = together[share.rank] if share.rank < len(together) else []
            chosen = own or (together[0] if share.in_step else [])
            if chosen:
                batch = [prompts[index] for index in chosen]
                said = _batch(model, tokenizer, batch, max_new_tokens, share.in_step)
                # A process without a batch went along with the first one's, and keeps nothing.
                texts.update(zip(own, said, strict=bool(own)))
            each(sum(map(len, together)))
    finally:
        model.train(was_training)
    return texts


def _batch(
    model: Any,
    tokenizer: Tokenizer,
    prompts: Sequence[Sequence[int]],
    max_new_tokens: int,
    in_step: bool,
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
            eos_token_id=end_ids(model, tokenizer),
            pad_token_id=tokenizer.pad_token_id,
        ),
        **({"synced_gpus": True} if in_step else {}),
    )
    new = written[:, ids.shape[1] :]
    texts: list[str] = tokenizer.batch_decode(new, skip_special_tokens=True)
    return [text.strip() for text in texts]


def end_ids(model: Any, tokenizer: Tokenizer) -> list[int]:
    """EOS and whatever else the model itself was made to stop at."""
    own = getattr(model.generation_config, "eos_token_id", None)
    more = own if isinstance(own, list) else [] if own is None else [own]
    return sorted({tokenizer.eos_token_id, *more})
