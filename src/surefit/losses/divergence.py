"""How far a student's distribution is from its teacher's, and which way that pulls its logits."""

import math
from dataclasses import dataclass
from typing import Literal, get_args

import torch

Objective = Literal["forward-kl", "reverse-kl", "jsd", "skew-kl", "skew-reverse-kl"]
OBJECTIVES: tuple[Objective, ...] = get_args(Objective)
UNSKEWED: dict[Objective, Objective] = {"skew-kl": "forward-kl", "skew-reverse-kl": "reverse-kl"}
"""What they are at a skew of 0, where no mixture keeps the ratio of both from overflowing."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """A divergence between p, the teacher's distribution, and q, the student's.

    Both are taken at `temperature`; values and gradients are then multiplied by its square, so that
    their weight beside cross entropy does not depend on it.
    """

    objective: Objective = "forward-kl"
    temperature: float = 1.0
    share: float = 0.5
    """Of the mixture that `jsd` compares both with: how much of it is the teacher's."""

    skew: float = 0.1
    """Of the skewed forms: how much of the first distribution is mixed into the second."""

    def __str__(self) -> str:
        formula = {
            "forward-kl": "KL(teacher ‖ student)",
            "reverse-kl": "KL(student ‖ teacher)",
            "jsd": f"{self.share:g} KL(teacher ‖ m) + {1 - self.share:g} KL(student ‖ m), "
            f"m = {self.share:g} teacher + {1 - self.share:g} student",
            "skew-kl": f"KL(teacher ‖ {self.skew:g} teacher + {1 - self.skew:g} student)",
            "skew-reverse-kl": f"KL(student ‖ {self.skew:g} student + {1 - self.skew:g} teacher)",
        }[self.objective]
        if self.temperature == 1:
            return formula
        return f"{formula} at temperature {self.temperature:g}, times {self.temperature**2:g}"


def loss_and_pull(
    log_p: torch.Tensor, log_q: torch.Tensor, divergence: Divergence
) -> tuple[torch.Tensor, torch.Tensor]:
    """The sum over places of `[places, vocabulary]`, and its gradient to the student's logits.

    Both are log-probabilities at the temperature; both tensors are used up. A loss with the
    gradient a to q pulls the logits by q (a - <q, a>).
    """
    objective = divergence.objective
    if not divergence.skew:
        objective = UNSKEWED.get(objective, objective)
    if objective == "forward-kl":
        loss, pull = _forward(log_p, log_q)
    elif objective == "reverse-kl":
        loss, pull = _reverse(log_p, log_q)
    elif objective == "jsd":
        loss, pull = _jsd(log_p, log_q, divergence.share)
    elif objective == "skew-kl":
        loss, pull = _skew(log_p, log_q, divergence.skew)
    else:
        loss, pull = _skew_reverse(log_p, log_q, divergence.skew)
    # The logits are divided by the temperature once, the sum is multiplied by it twice.
    return loss * divergence.temperature**2, pull.mul_(divergence.temperature)


def _forward(log_p: torch.Tensor, log_q: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    p = log_p.exp()
    loss = _dot(p, log_p.sub_(log_q))
    return loss, log_q.exp_().sub_(p)


def _reverse(log_p: torch.Tensor, log_q: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    apart = log_p.neg_().add_(log_q)
    return _pulled(log_q.exp_(), apart)


def _jsd(
    log_p: torch.Tensor, log_q: torch.Tensor, share: float
) -> tuple[torch.Tensor, torch.Tensor]:
    log_m = _mixed(log_p, log_q, share)
    p = log_p.exp()
    of_teacher = _dot(p, log_p.sub_(log_m))
    of_student, pull = _pulled(log_q.exp(), log_q.sub_(log_m))
    return share * of_teacher + (1 - share) * of_student, pull.mul_(1 - share)


def _skew(
    log_p: torch.Tensor, log_q: torch.Tensor, skew: float
) -> tuple[torch.Tensor, torch.Tensor]:
    log_m = _mixed(log_p, log_q, skew)
    p = log_p.exp()
    loss = _dot(p, log_p - log_m)
    to_q = log_p.sub_(log_m).exp_().mul_(skew - 1)
    return loss, _pulled(log_q.exp_(), to_q)[1]


def _skew_reverse(
    log_p: torch.Tensor, log_q: torch.Tensor, skew: float
) -> tuple[torch.Tensor, torch.Tensor]:
    log_m = _mixed(log_q, log_p, skew)
    q = log_q.exp()
    apart = log_q.sub_(log_m)
    loss = _dot(q, apart)
    to_q = apart.sub_(apart.exp(), alpha=skew)
    return loss, _pulled(q, to_q)[1]


def _pulled(q: torch.Tensor, to_q: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The sum of <q, a>, and q (a - <q, a>); both tensors are used up."""
    means = (q * to_q).sum(1, keepdim=True)
    return means.sum(), q.mul_(to_q.sub_(means))


def _mixed(log_one: torch.Tensor, log_other: torch.Tensor, share: float) -> torch.Tensor:
    """The logarithm of a mixture that has so much of the first."""
    if share in (0, 1):
        return (log_one if share else log_other).clone()
    return torch.logaddexp(log_one + math.log(share), log_other + math.log(1 - share))


def _dot(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    return torch.dot(one.flatten(), other.flatten())
