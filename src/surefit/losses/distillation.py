"""Cross entropy and divergence from a teacher, from hidden states of both, a chunk at a time."""

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch.autograd.function import once_differentiable

from .divergence import Divergence, loss_and_pull
from .places import CHUNK

FEW = 16
"""Places that are worked on together once their logits are there: few enough to stay in a cache."""


@dataclass(frozen=True, slots=True)
class Head:
    """A linear head: hidden states of a place to logits of the tokens that both models know."""

    weight: torch.Tensor
    bias: torch.Tensor | None = None

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """At least in fp32."""
        made = F.linear(hidden, self.weight, self.bias)
        return made.to(torch.promote_types(made.dtype, torch.float32))


@dataclass(frozen=True, slots=True)
class Distilled:
    """Sums over places; `loss` alone carries gradients, to the student."""

    loss: torch.Tensor
    """(1 - alpha) of the cross entropy and alpha of the divergence."""

    cross_entropy: torch.Tensor
    divergence: torch.Tensor


def head_distillation(
    hidden: torch.Tensor,
    head: Head,
    teacher_hidden: torch.Tensor,
    teacher_head: Head,
    targets: torch.Tensor,
    divergence: Divergence,
    alpha: float,
    chunk: int = CHUNK,
) -> Distilled:
    """From `[places, hidden]` of both; the logits of all places never exist together."""
    kind = hidden.device.type
    if torch.is_autocast_enabled(kind):
        dtype = torch.get_autocast_dtype(kind)
        hidden, head = hidden.to(dtype), _in(head, dtype)
    loss, cross_entropy, apart = _InChunks.apply(  # type: ignore[no-untyped-call]
        hidden.to(head.weight.dtype),
        head.weight,
        head.bias,
        teacher_hidden.detach().to(teacher_head.weight.dtype),
        teacher_head,
        targets,
        divergence,
        alpha,
        chunk,
        torch.is_grad_enabled(),
    )
    return Distilled(loss, cross_entropy, apart)


class _InChunks(torch.autograd.Function):
    """Gradients are made on the way there, while the logits of a chunk exist."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: torch.Tensor,
        weight: torch.Tensor,
        bias: torch.Tensor | None,
        teacher_hidden: torch.Tensor,
        teacher_head: Head,
        targets: torch.Tensor,
        divergence: Divergence,
        alpha: float,
        chunk: int,
        back: bool,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        needed = [back and one for one in ctx.needs_input_grad[:3]]
        to_hidden = _room_for(hidden) if needed[0] else None
        to_weight = _room_for(weight) if needed[1] else None
        to_bias = _room_for(bias) if bias is not None and needed[2] else None
        sums = hidden.new_zeros(2, dtype=torch.promote_types(hidden.dtype, torch.float32))
        for start in range(0, len(hidden), chunk):
            part = slice(start, start + chunk)
            error = Head(weight, bias).logits(hidden[part])
            of_teacher = teacher_head.logits(teacher_hidden[part])
            for few in range(0, len(error), FEW):
                rows = slice(start + few, start + min(few + FEW, chunk))
                here = slice(few, few + FEW)
                sums += _turn_to_error(
                    error[here], of_teacher[here], targets[rows], divergence, alpha
                )
            error = error.to(hidden.dtype)
            if to_hidden is not None:
                to_hidden[part] = error @ weight
            if to_weight is not None and error.dtype == to_weight.dtype:
                to_weight.addmm_(error.T, hidden[part])
            elif to_weight is not None:
                to_weight += error.T @ hidden[part]
            if to_bias is not None:
                to_bias += error.sum(0, dtype=to_bias.dtype)
        ctx.save_for_backward(to_hidden, to_weight, to_bias)
        ctx.dtype = hidden.dtype
        ctx.mark_non_differentiable(sums)
        total = (1 - alpha) * sums[0] + alpha * sums[1]
        return total, sums[0].clone(), sums[1].clone()

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, scale: torch.Tensor, *_others: torch.Tensor
    ) -> tuple[torch.Tensor | None, ...]:
        gradients = (
            None if gradient is None else gradient.mul_(scale).to(ctx.dtype)
            for gradient in ctx.saved_tensors
        )
        return *gradients, None, None, None, None, None, None, None


def _turn_to_error(
    own: torch.Tensor,
    of_teacher: torch.Tensor,
    targets: torch.Tensor,
    divergence: Divergence,
    alpha: float,
) -> torch.Tensor:
    """Cross entropy and divergence; the student's logits become the gradient of their mix."""
    log_probabilities = own.log_softmax(1)
    entropy = -log_probabilities.gather(1, targets[:, None]).sum()
    log_p = _cooled(of_teacher, divergence.temperature)
    log_q = (
        log_probabilities.clone()
        if divergence.temperature == 1
        else _cooled(own, divergence.temperature)
    )
    apart, pull = loss_and_pull(log_p, log_q, divergence)
    torch.mul(pull, alpha, out=own)
    if alpha < 1:
        own.add_(log_probabilities.exp_(), alpha=1 - alpha)
        own.scatter_add_(1, targets[:, None], own.new_full((len(targets), 1), alpha - 1))
    return torch.stack((entropy, apart))


def _cooled(logits: torch.Tensor, temperature: float) -> torch.Tensor:
    """Log-probabilities at a temperature; the logits are used up."""
    return logits.div_(temperature).log_softmax(1)


def _room_for(tensor: torch.Tensor) -> torch.Tensor:
    return torch.zeros_like(tensor, dtype=torch.promote_types(tensor.dtype, torch.float32))


def _in(head: Head, dtype: torch.dtype) -> Head:
    return Head(head.weight.to(dtype), None if head.bias is None else head.bias.to(dtype))
