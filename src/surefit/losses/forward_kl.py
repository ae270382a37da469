"""Cross entropy and KL(teacher ‖ student) of a few places, in as few passes as they need.

Logits come divided by the temperature and are used up: the student's become the gradient of
(1 - alpha) cross entropy + alpha temperature² KL to its logits at temperature 1. Both functions
give the two sums over places.
"""

import torch

from .tail import kl_of_kept, log_top_and_tail
from .teacher import TopK

POWERS = (1.0, 2.0, 3.0)
"""Temperatures at which exp(logit) is a product of exp(logit / temperature) with itself."""

LEAST = 1e-30
"""Of a student's tail, beside its likeliest token: one by it is still a number in fp32."""


def from_teacher(
    own: torch.Tensor,
    of_teacher: torch.Tensor,
    targets: torch.Tensor,
    temperature: float,
    alpha: float,
) -> tuple[torch.Tensor, torch.Tensor]:
    own.sub_(own.amax(1, keepdim=True))
    of_teacher.sub_(of_teacher.amax(1, keepdim=True))
    p = of_teacher.exp()
    sum_p = p.sum(1, keepdim=True)
    apart = of_teacher.sub_(own).mul_(p).sum(1, keepdim=True) / sum_p - sum_p.log()

    at_target = own.gather(1, targets[:, None])
    q, hot = _exponentials(own, temperature)
    sum_q, sum_hot = q.sum(1, keepdim=True), hot.sum(1, keepdim=True)
    apart += sum_q.log()

    error = q.mul_(alpha * temperature / sum_q)
    error.addcmul_(p, -alpha * temperature / sum_p)
    _add_cross_entropy(error, hot, sum_hot, targets, alpha)
    entropy = sum_hot.log() - at_target * temperature
    return entropy.sum(), apart.sum() * temperature**2


def from_top_k(
    own: torch.Tensor,
    kept: TopK,
    targets: torch.Tensor,
    temperature: float,
    alpha: float,
) -> tuple[torch.Tensor, torch.Tensor]:
    log_top, tail = log_top_and_tail(kept, temperature, own.shape[1])
    own.sub_(own.amax(1, keepdim=True))
    at_target, at_top = own.gather(1, targets[:, None]), own.gather(1, kept.ids)
    q, hot = _exponentials(own, temperature)
    sum_hot = hot.sum(1, keepdim=True)
    q_top = at_top.exp()
    # Summed without the likeliest, not taken from the sum of all: it can be 1e-9 of that.
    q_tail = q.scatter_(1, kept.ids, 0).sum(1, keepdim=True).clamp_(min=LEAST)
    sum_q = q_tail + q_top.sum(1, keepdim=True)

    apart = kl_of_kept(log_top, tail, at_top - sum_q.log(), (q_tail / sum_q).log())

    # The teacher's tail is shared out as the student's is.
    error = q.mul_(alpha * temperature * (1 / sum_q - tail / q_tail))
    error.scatter_(1, kept.ids, alpha * temperature * (q_top / sum_q - log_top.exp()))
    _add_cross_entropy(error, hot, sum_hot, targets, alpha)
    entropy = sum_hot.log() - at_target * temperature
    return entropy.sum(), apart.sum() * temperature**2


def _exponentials(own: torch.Tensor, temperature: float) -> tuple[torch.Tensor, torch.Tensor]:
    """At the temperature, in the place of the logits, and at temperature 1."""
    if temperature in POWERS:
        cold = own.exp_()
        return cold, cold.pow(temperature)
    hot = (own * temperature).exp_()
    return own.exp_(), hot


def _add_cross_entropy(
    error: torch.Tensor,
    hot: torch.Tensor,
    sum_hot: torch.Tensor,
    targets: torch.Tensor,
    alpha: float,
) -> None:
    if alpha < 1:
        error.addcmul_(hot, (1 - alpha) / sum_hot)
        error.scatter_add_(1, targets[:, None], error.new_full((len(targets), 1), alpha - 1))
