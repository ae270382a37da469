"""A model whose weights are spread over processes: what one of them holds, and the whole."""

from typing import Any

import torch
from torch import nn

# By what a sharded tensor has; its class takes long to import, and most runs have none.


def is_sharded(model: nn.Module) -> bool:
    return any(hasattr(parameter, "device_mesh") for parameter in model.parameters())


def held_here(tensor: torch.Tensor) -> torch.Tensor:
    """Of a sharded tensor, what this process has."""
    here: torch.Tensor = tensor.to_local() if hasattr(tensor, "to_local") else tensor
    return here


def whole_weights(model: Any, keep: bool) -> dict[str, torch.Tensor] | None:
    """Of a sharded model: what is saved of it, put together by all processes; None of others.

    They call it at the same time; those that do not `keep` it get an empty one.
    """
    from peft import PeftModel

    if not is_sharded(model):
        return None
    whole: dict[str, torch.Tensor] = {}
    tensors: dict[int, torch.Tensor] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        if isinstance(model, PeftModel) and not parameter.requires_grad:
            continue
        if id(parameter) not in tensors:  # tied weights stay one tensor under two names
            tensor = parameter.full_tensor() if hasattr(parameter, "full_tensor") else parameter
            tensors[id(parameter)] = tensor.detach().cpu() if keep else torch.empty(0)
        whole[name] = tensors[id(parameter)]
    return whole if keep else {}
