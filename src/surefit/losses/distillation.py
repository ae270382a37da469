"""Cross entropy and divergence from a teacher, from hidden states of both, a chunk at a time."""

from dataclasses import dataclass
from typing import Any

import torch
from torch.autograd.function import once_differentiable

from . import forward_kl
from .chunks import ChunkLogits, few_rows, parts
from .divergence import Divergence, loss_and_pull
from .places import CHUNK
from .tail import spread_over
from .teacher import FromHidden, Head, Teacher, TopK

__all__ = ["Distilled", "FromHidden", "Head", "Teacher", "TopK", "head_distillation"]


@dataclass(frozen=True, slots=True)
class Distilled:
    """Sums over places; `loss` alone carries gradients, to the student."""

    loss: torch.Tensor
    """(1 - alpha) of the cross entropy and alpha of the divergence."""

    cross_entropy: torch.Tensor
    divergence: torch.Tensor


def head_distillation(
    hidden: torch.Tensor,
    head: Head | None,
    teacher: Teacher,
    targets: torch.Tensor,
    divergence: Divergence,
    alpha: float,
    chunk: int = CHUNK,
) -> Distilled:
    """From `[places, hidden]`; the logits of all places never exist together.

    Without a head `hidden` are logits, `[places, vocabulary]`, and given the gradients.
    """
    hidden, head = _as_autocast(hidden, head)
    if isinstance(teacher, FromHidden):
        teacher = FromHidden(*_as_autocast(teacher.hidden.detach(), teacher.head))
    given = (hidden, None, None) if head is None else (hidden, head.weight, head.bias)
    how = (divergence, alpha, chunk, torch.is_grad_enabled())
    with torch.autocast(hidden.device.type, enabled=False):  # sums stay in fp32
        loss, cross_entropy, apart = _InChunks.apply(  # type: ignore[no-untyped-call]
            *given, teacher, targets, *how
        )
    return Distilled(loss, cross_entropy, apart)


def _as_autocast(hidden: torch.Tensor, head: Head | None) -> tuple[torch.Tensor, Head | None]:
    """In the precision in which a linear layer would work here."""
    kind = hidden.device.type
    if head is None:
        return hidden, None
    if torch.is_autocast_enabled(kind):
        head = head.to(torch.get_autocast_dtype(kind))
    return hidden.to(head.weight.dtype), head


class _InChunks(torch.autograd.Function):
    """Gradients are made on the way there, while the logits of a chunk exist."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: torch.Tensor,
        weight: torch.Tensor | None,
        bias: torch.Tensor | None,
        teacher: Teacher,
        targets: torch.Tensor,
        divergence: Divergence,
        alpha: float,
        chunk: int,
        back: bool,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        to_hidden, to_weight, to_bias = (
            _room_for(one) if one is not None and back and needed else None
            for one, needed in zip((hidden, weight, bias), ctx.needs_input_grad, strict=False)
        )
        errors = _Errors(
            hidden,
            None if weight is None else Head(weight, bias),
            teacher,
            divergence,
            alpha,
            chunk,
        )
        for part in parts(len(hidden), chunk):
            error = errors.of(part, targets[part])
            if to_bias is not None:
                to_bias += error.sum(0)
            error = error.to(hidden.dtype)
            if to_hidden is not None:
                to_hidden[part] = error if weight is None else error @ weight
            if to_weight is not None and to_weight.dtype == error.dtype:
                to_weight.addmm_(error.T, hidden[part])
            elif to_weight is not None:
                to_weight += error.T @ hidden[part]
        ctx.save_for_backward(to_hidden, to_weight, to_bias)
        ctx.dtype = hidden.dtype
        cross_entropy, apart = errors.sums
        ctx.mark_non_differentiable(cross_entropy, apart)
        return (1 - alpha) * cross_entropy + alpha * apart, cross_entropy, apart

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, scale: torch.Tensor, *_others: torch.Tensor
    ) -> tuple[torch.Tensor | None, ...]:
        gradients = (
            None if gradient is None else gradient.mul_(scale).to(ctx.dtype)
            for gradient in ctx.saved_tensors
        )
        return *gradients, None, None, None, None, None, None


class _Errors:
    """Gradients of the loss to the logits of a chunk, and the sums over all chunks so far."""

    def __init__(
        self,
        hidden: torch.Tensor,
        head: Head | None,
        teacher: Teacher,
        divergence: Divergence,
        alpha: float,
        chunk: int,
    ) -> None:
        temperature = divergence.temperature
        self.own = ChunkLogits(hidden, head, chunk, temperature)
        self.teacher = (
            teacher
            if isinstance(teacher, TopK)
            else ChunkLogits(teacher.hidden, teacher.head, chunk, temperature)
        )
        self.divergence = divergence
        self.alpha = alpha
        zero = self.own.room.new_zeros(())
        self.sums = (zero, zero)

    def of(self, part: slice, targets: torch.Tensor) -> torch.Tensor:
        own = self.own.of(part)
        said = self.teacher.at(part) if isinstance(self.teacher, TopK) else self.teacher.of(part)
        for rows in few_rows(own):
            here = said.at(rows) if isinstance(said, TopK) else said[rows]
            entropy, apart = self._turned(own[rows], here, targets[rows])
            self.sums = (self.sums[0] + entropy, self.sums[1] + apart)
        return own

    def _turned(
        self, own: torch.Tensor, said: torch.Tensor | TopK, targets: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Sums of cross entropy and divergence; the student's logits become the gradient."""
        how = self.divergence
        if how.objective != "forward-kl":
            return _turn_by_any(own, said, targets, how, self.alpha)
        if isinstance(said, TopK):
            return forward_kl.from_top_k(own, said, targets, how.temperature, self.alpha)
        return forward_kl.from_teacher(own, said, targets, how.temperature, self.alpha)


def _turn_by_any(
    own: torch.Tensor,
    said: torch.Tensor | TopK,
    targets: torch.Tensor,
    divergence: Divergence,
    alpha: float,
) -> tuple[torch.Tensor, torch.Tensor]:
    """As the functions of `forward_kl.py`, for every divergence."""
    temperature = divergence.temperature
    log_q = own.log_softmax(1)
    log_probabilities = log_q if temperature == 1 else own.mul_(temperature).log_softmax(1)
    entropy = -log_probabilities.gather(1, targets[:, None]).sum()
    log_p = spread_over(log_q, said, temperature) if isinstance(said, TopK) else said.log_softmax(1)
    if alpha < 1:
        torch.exp(log_probabilities, out=own).mul_(1 - alpha)
        own.scatter_add_(1, targets[:, None], own.new_full((len(targets), 1), alpha - 1))
    else:
        own.zero_()
    apart, pull = loss_and_pull(log_p, log_q, divergence)
    own.add_(pull, alpha=alpha)
    return entropy, apart


def _room_for(tensor: torch.Tensor) -> torch.Tensor:
    return torch.zeros_like(tensor, dtype=torch.promote_types(tensor.dtype, torch.float32))
