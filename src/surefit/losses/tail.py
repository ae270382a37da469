"""The tail of a teacher of which only the likeliest tokens were kept."""

import torch

from .chunks import LOWEST
from .teacher import TopK


def log_top_and_tail(
    kept: TopK, temperature: float, vocabulary: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """At the temperature: log-probabilities `[places, k]`, and the mass of the tail `[places, 1]`.

    What was kept was rounded, so that it can sum to more than 1; it is divided by its sum then.
    """
    log_top = kept.log_probabilities / temperature - kept.log_normaliser[:, None]
    mass = log_top.exp().sum(1, keepdim=True)
    tail = torch.zeros_like(mass) if kept.ids.shape[1] == vocabulary else (1 - mass).clamp_(min=0)
    return log_top - mass.log().clamp_(min=0), tail


def kl_of_kept(
    log_top: torch.Tensor, tail: torch.Tensor, own_top: torch.Tensor, log_own_tail: torch.Tensor
) -> torch.Tensor:
    """KL(teacher ‖ student) of k + 1 outcomes: `[places, 1]`."""
    of_top = (log_top.exp() * (log_top - own_top)).sum(1, keepdim=True)
    return of_top + torch.xlogy(tail, tail) - tail * log_own_tail.clamp(min=LOWEST)


def spread_over(log_q: torch.Tensor, kept: TopK, temperature: float) -> torch.Tensor:
    """Log-probabilities of a teacher that shares out its tail as the student does.

    The ratio of both is then the same for all tokens of the tail, and every divergence and its
    gradient depends on the ratio alone: they are those of k + 1 outcomes. A tail below the rounding
    of a sum to 1 cannot be told from none, and counts as that much.
    """
    log_top, tail = log_top_and_tail(kept, temperature, log_q.shape[1])
    log_tail = tail.clamp(min=torch.finfo(tail.dtype).eps).log()
    log_own_tail = log_q.scatter(1, kept.ids, -torch.inf).logsumexp(1, keepdim=True)
    # Where all tokens were kept none is given this.
    log_p = log_q + (log_tail - log_own_tail.clamp(min=LOWEST))
    return log_p.scatter_(1, kept.ids, log_top.to(log_p.dtype))
