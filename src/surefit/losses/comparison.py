"""A student beside its teacher at the same places, for evaluation: nothing is given a gradient."""

from dataclasses import dataclass

import torch

from .chunks import ChunkLogits, few_rows, parts
from .places import CHUNK
from .tail import kl_of_kept, log_top_and_tail
from .teacher import Head, Teacher, TopK


@dataclass(frozen=True, slots=True)
class Compared:
    """Sums over places in nats, at temperature 1, and counts of places."""

    cross_entropy: torch.Tensor
    teacher_cross_entropy: torch.Tensor | None
    """None where nothing was kept of it."""

    divergence: torch.Tensor
    """KL(teacher ‖ student); where only the likeliest tokens were kept, of these and the tail."""

    agreeing: torch.Tensor
    """Places where both hold the same token for the likeliest."""

    places: int


@torch.no_grad()
def compared(
    hidden: torch.Tensor,
    head: Head | None,
    teacher: Teacher,
    targets: torch.Tensor,
    chunk: int = CHUNK,
) -> Compared:
    """From `[places, hidden]` of both, at least in fp32; see `head_distillation`."""
    own = _logits(hidden, head, chunk)
    of_teacher = (
        teacher if isinstance(teacher, TopK) else _logits(teacher.hidden, teacher.head, chunk)
    )
    sums = own.room.new_zeros(4)
    for part in parts(len(hidden), chunk):
        logits = own.of(part)
        said = of_teacher.at(part) if isinstance(of_teacher, TopK) else of_teacher.of(part)
        for rows in few_rows(logits):
            log_q, at = logits[rows].log_softmax(1), targets[part][rows]
            if isinstance(said, TopK):
                sums += _beside_kept(log_q, said.at(rows), at)
            else:
                sums += _beside(log_q, said[rows].log_softmax(1), at)
    known = not isinstance(teacher, TopK) or teacher.target_log_probability is not None
    return Compared(sums[0], sums[1] if known else None, sums[2], sums[3], len(hidden))


def _logits(hidden: torch.Tensor, head: Head | None, chunk: int) -> ChunkLogits:
    return ChunkLogits(hidden if head is None else hidden.to(head.weight.dtype), head, chunk, 1.0)


def _beside(log_q: torch.Tensor, log_p: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Both cross entropies, the divergence, and how many agree."""
    at = targets[:, None]
    agreeing = (log_q.argmax(1) == log_p.argmax(1)).sum()
    own, of_teacher = -log_q.gather(1, at).sum(), -log_p.gather(1, at).sum()
    apart = (log_p.exp() * (log_p - log_q)).sum()
    return torch.stack((own, of_teacher, apart, agreeing.to(log_q.dtype)))


def _beside_kept(log_q: torch.Tensor, kept: TopK, targets: torch.Tensor) -> torch.Tensor:
    untempered = TopK(kept.ids, kept.log_probabilities, torch.zeros_like(kept.log_normaliser))
    log_top, tail = log_top_and_tail(untempered, 1.0, log_q.shape[1])
    own = -log_q.gather(1, targets[:, None]).sum()
    likeliest = kept.ids.gather(1, log_top.argmax(1, keepdim=True)).squeeze(1)
    agreeing = (log_q.argmax(1) == likeliest).sum()
    own_top = log_q.gather(1, kept.ids)
    log_own_tail = log_q.scatter_(1, kept.ids, -torch.inf).logsumexp(1, keepdim=True)
    apart = kl_of_kept(log_top, tail, own_top, log_own_tail).sum()
    target = kept.target_log_probability
    of_teacher = own.new_zeros(()) if target is None else -target.sum()
    return torch.stack((own, of_teacher, apart, agreeing.to(log_q.dtype)))
