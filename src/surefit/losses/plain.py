"""The losses written plainly, from all logits at once: what the lean forms are held against."""

from dataclasses import dataclass

import torch

from .divergence import Divergence
from .teacher import TopK


@dataclass(frozen=True, slots=True)
class Plain:
    """One number for each place; gradients are left to autograd."""

    cross_entropy: torch.Tensor
    divergence: torch.Tensor

    def mixed(self, alpha: float) -> torch.Tensor:
        return (1 - alpha) * self.cross_entropy + alpha * self.divergence


def plain_distillation(
    own: torch.Tensor, of_teacher: torch.Tensor | TopK, targets: torch.Tensor, how: Divergence
) -> Plain:
    """From logits `[places, vocabulary]` of both, in whatever precision they have."""
    entropy = -own.log_softmax(1).gather(1, targets[:, None]).squeeze(1)
    log_q = (own / how.temperature).log_softmax(1)
    if isinstance(of_teacher, TopK):
        log_p, log_q = _outcomes(of_teacher, log_q, how.temperature)
    else:
        log_p = (of_teacher / how.temperature).log_softmax(1)
    return Plain(entropy, how.temperature**2 * _apart(log_p, log_q, how))


def _apart(log_p: torch.Tensor, log_q: torch.Tensor, how: Divergence) -> torch.Tensor:
    if how.objective == "forward-kl":
        return _kl(log_p, log_q)
    if how.objective == "reverse-kl":
        return _kl(log_q, log_p)
    if how.objective == "jsd":
        middle = _mixture(log_p, log_q, how.share)
        return how.share * _kl(log_p, middle) + (1 - how.share) * _kl(log_q, middle)
    if how.objective == "skew-kl":
        return _kl(log_p, _mixture(log_p, log_q, how.skew))
    return _kl(log_q, _mixture(log_q, log_p, how.skew))


def _kl(log_one: torch.Tensor, log_other: torch.Tensor) -> torch.Tensor:
    return (log_one.exp() * (log_one - log_other)).sum(1)


def _mixture(log_one: torch.Tensor, log_other: torch.Tensor, share: float) -> torch.Tensor:
    """The logarithm of a mixture that has so much of the first."""
    mixed = share * log_one.exp() + (1 - share) * log_other.exp()
    return mixed.clamp_min(torch.finfo(mixed.dtype).tiny).log()


def _outcomes(
    kept: TopK, log_q: torch.Tensor, temperature: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Of teacher and student: each token that was kept, and all others as one, if there are any.

    How much is left for these is what the precision of the kept numbers says: they can sum to more
    than 1, and a tail below their rounding counts as that much.
    """
    top = kept.log_probabilities / temperature - kept.log_normaliser[:, None]
    mass = top.exp().sum(1, keepdim=True)
    ids, log_top = kept.ids.long(), (top - mass.log().clamp_min(0)).to(log_q)
    own = log_q.gather(1, ids)
    if ids.shape[1] == log_q.shape[1]:
        return log_top, own
    tail = (1 - mass).clamp_min(torch.finfo(mass.dtype).eps).log().to(log_q)
    others = log_q.scatter(1, ids, -torch.inf).logsumexp(1, keepdim=True)
    return torch.cat((log_top, tail), 1), torch.cat((own, others), 1)
