"""AdamW, in one kernel for all weights where torch has it."""

from collections.abc import Iterable
from typing import Any

import torch
from accelerate import Accelerator
from torch import nn

FUSED_ON = ("cpu", "cuda", "xpu", "mps")


def adamw(
    parameters: Iterable[nn.Parameter],
    accelerator: Accelerator,
    *,
    learning_rate: float,
    weight_decay: float,
) -> torch.optim.AdamW:
    """Those of the parameters that are trained.

    Under a gradient scaler it is not fused: a fused step looks for overflow by itself, and nobody
    would hear that it was skipped.
    """
    trained = [parameter for parameter in parameters if parameter.requires_grad]
    more: dict[str, Any] = {"fused": True} if _can_be_fused(trained, accelerator) else {}
    return torch.optim.AdamW(trained, lr=learning_rate, weight_decay=weight_decay, **more)


def _can_be_fused(parameters: list[nn.Parameter], accelerator: Accelerator) -> bool:
    return accelerator.scaler is None and all(
        parameter.device.type in FUSED_ON and parameter.is_floating_point()
        for parameter in parameters
    )
