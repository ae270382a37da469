"""Cross entropy of hidden states under a linear head, with the logits of one chunk at a time."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd.function import once_differentiable

from .places import CHUNK


def head_cross_entropy(
    hidden: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    targets: torch.Tensor,
    chunk: int = CHUNK,
) -> torch.Tensor:
    """The sum over `[places, hidden]`, at least in fp32; a frozen weight is given no gradient."""
    kind = hidden.device.type
    dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else weight.dtype
    hidden, weight = hidden.to(dtype), weight.to(dtype)
    bias = None if bias is None else bias.to(dtype)
    # torch's own function gives the sum in the precision of its input: in bf16 that is right to
    # two digits, and in fp16 it overflows after some 5000 places.
    if dtype.itemsize < 4 or not hasattr(nn, "LinearCrossEntropyOptions"):
        given = (hidden, weight, bias, targets, chunk, torch.is_grad_enabled())
        total: torch.Tensor = _InChunks.apply(*given)  # type: ignore[no-untyped-call]
        return total
    return F.linear_cross_entropy(
        hidden,
        weight,
        targets,
        linear_bias=bias,
        reduction="sum",
        # Left to itself it takes chunks so small that it needs 14 times as long.
        options=nn.LinearCrossEntropyOptions(batch_chunk_size=chunk),
    )


def cross_entropy(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """The sum over `[places, vocabulary]`, at least in fp32."""
    return F.cross_entropy(logits.to(_wider(logits)), targets, reduction="sum")


class _InChunks(torch.autograd.Function):
    """What torch's own function does, with sums in fp32: gradients are made on the way there."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: torch.Tensor,
        weight: torch.Tensor,
        bias: torch.Tensor | None,
        targets: torch.Tensor,
        chunk: int,
        back: bool,
    ) -> torch.Tensor:
        needed = [back and one for one in ctx.needs_input_grad]
        to_hidden = _room_for(hidden) if needed[0] else None
        to_weight = _room_for(weight) if needed[1] else None
        to_bias = _room_for(bias) if bias is not None and needed[2] else None
        total = hidden.new_zeros((), dtype=_wider(hidden))
        for start in range(0, len(hidden), chunk):
            part = slice(start, start + chunk)
            loss, error = _loss_and_error(hidden[part], weight, bias, targets[part])
            total += loss
            if to_hidden is not None:
                to_hidden[part] = error @ weight
            if to_weight is not None:
                to_weight += error.T @ hidden[part]
            if to_bias is not None:
                to_bias += error.sum(0, dtype=to_bias.dtype)
        ctx.save_for_backward(to_hidden, to_weight, to_bias)
        ctx.dtype = hidden.dtype
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, scale: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        gradients = (
            None if gradient is None else (gradient * scale).to(ctx.dtype)
            for gradient in ctx.saved_tensors
        )
        return *gradients, None, None, None


def _loss_and_error(
    hidden: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None, targets: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """The summed loss of a chunk, and its gradient to the logits: probabilities less the target."""
    logits = F.linear(hidden, weight, bias).to(_wider(hidden))
    of_all = logits.logsumexp(1, keepdim=True)
    loss = (of_all - logits.gather(1, targets[:, None])).sum()
    error = logits.sub_(of_all).exp_()
    error.scatter_add_(1, targets[:, None], error.new_full((len(targets), 1), -1.0))
    return loss, error.to(hidden.dtype)


def _room_for(tensor: torch.Tensor) -> torch.Tensor:
    return torch.zeros_like(tensor, dtype=_wider(tensor))


def _wider(tensor: torch.Tensor) -> torch.dtype:
    return torch.promote_types(tensor.dtype, torch.float32)
