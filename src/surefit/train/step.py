"""One optimizer step there and back: batches weighed by tokens, over all processes."""

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from accelerate import Accelerator

from surefit.data.batches import Batch

from .ranks import Ranks


@dataclass(frozen=True, slots=True)
class There:
    """What a step is before the optimizer moves a weight."""

    loss: float
    """Mean over the supervised tokens of the step, of this process's part of them: the sum over
    all processes is the loss of the step."""

    norm: float
    """Of the gradients of the whole step, before they are shortened."""


def forward_backward(
    accelerator: Accelerator,
    ranks: Ranks,
    loss_of: Any,
    batches: list[Batch],
    places: int,
    max_norm: float,
) -> There:
    """`places` counts the supervised tokens of the step on all processes."""
    total = torch.zeros((), device=accelerator.device)
    for at, batch in enumerate(batches, start=1):
        # Gradients meet once a step, with the last batch.
        alone = accelerator.no_sync(loss_of) if at < len(batches) else nullcontext()
        with alone:
            loss = loss_of(**to_device(accelerator, batch), places=places)
            # Processes average their gradients; the step wants their sum.
            accelerator.backward(loss * ranks.world)
        total += loss.detach()
    norm = accelerator.clip_grad_norm_(loss_of.parameters(), max_norm)
    return There(total.item(), float(norm))


def to_device(accelerator: Accelerator, batch: Batch) -> Batch:
    return {name: tensor.to(accelerator.device) for name, tensor in batch.items()}
