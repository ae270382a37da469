"""The learning rate over a run: up over the warm-up, then linearly down to nothing."""

from functools import partial

import torch
from torch.optim.lr_scheduler import LambdaLR


def share_of_highest(step: int, *, steps: int, warmup: int) -> float:
    """For the optimizer step after `step` others; above 0 for every step of the run."""
    if step < warmup:
        return (step + 1) / (warmup + 1)
    return max(0.0, (steps - step) / max(1, steps - warmup))


def linear_decay(optimizer: torch.optim.Optimizer, steps: int, warmup_share: float) -> LambdaLR:
    warmup = round(steps * warmup_share)
    return LambdaLR(optimizer, partial(share_of_highest, steps=steps, warmup=warmup))
