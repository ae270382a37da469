"""An objective at a few places of a batch: as the run computes it, and plainly in float64."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch

from surefit.losses.distillation import head_distillation
from surefit.losses.divergence import Divergence
from surefit.losses.plain import Plain, plain_distillation
from surefit.losses.teacher import FromHidden, Head, Teacher, TopK

PLACES = 32
"""So few that all their logits in float64 are small: 40 MB for the largest vocabularies."""

ROWS = 8192
"""Of a head, that are there in float64 at once."""

ROUNDINGS = 4
"""How often more than once logits are rounded: a sum of products is made of many roundings."""

FP16_SCALE = 256.0
"""Of the loss, as a scaler has it: below 6e-08 a gradient is 0 in fp16."""

LOWEST = -1e30
"""In place of the logit of a token that a model rules out."""


@dataclass(frozen=True, slots=True)
class Objective:
    """What the loss is made of, at a few places."""

    hidden: torch.Tensor
    head: Head | None
    teacher: Teacher
    targets: torch.Tensor
    divergence: Divergence
    alpha: float

    @property
    def dtype(self) -> torch.dtype:
        return _made_in(self.hidden, self.head)


@dataclass(frozen=True, slots=True)
class Pull:
    """The sum of a loss over places, and its gradient to the student's hidden states."""

    loss: float
    gradient: torch.Tensor
    of_places: torch.Tensor | None = None
    cross_entropy: float = 0.0
    divergence: float = 0.0


def few_places(whole: Objective) -> Objective:
    """Places evenly spread over the batch."""
    part = slice(None, None, max(1, math.ceil(len(whole.targets) / PLACES)))
    teacher = whole.teacher
    return replace(
        whole,
        hidden=whole.hidden.detach()[part],
        targets=whole.targets[part],
        teacher=teacher.at(part)
        if isinstance(teacher, TopK)
        else FromHidden(teacher.hidden.detach()[part], teacher.head),
    )


def logits_of(hidden: torch.Tensor, head: Head | None) -> torch.Tensor:
    """Of the numbers that the run sees; in float64 on the CPU, as not every device has it."""
    dtype = _made_in(hidden, head)
    with torch.autocast("cpu", enabled=False):
        exact = hidden.detach().to(dtype).cpu().double()
        if head is None:
            return exact
        bias = 0 if head.bias is None else head.bias.detach().to(dtype).cpu().double()
        return torch.cat([exact @ rows.T for rows in _rows(head, dtype)], 1) + bias


def teacher_logits(teacher: Teacher) -> torch.Tensor | TopK:
    if isinstance(teacher, FromHidden):
        return logits_of(teacher.hidden, teacher.head)
    kept = (teacher.ids, teacher.log_probabilities, teacher.log_normaliser)
    return TopK(*(one.detach().cpu() for one in kept))


def rounded_logits(
    given: Objective, own: torch.Tensor, of_teacher: torch.Tensor | TopK
) -> tuple[torch.Tensor, torch.Tensor | TopK]:
    """Logits as the precision of the run has them; what was kept sums to 1 as exactly as it can."""
    if isinstance(of_teacher, TopK):
        rounding = torch.finfo(of_teacher.log_normaliser.dtype).eps
        of_teacher = replace(of_teacher, log_normaliser=of_teacher.log_normaliser + rounding)
    elif isinstance(given.teacher, FromHidden):
        dtype = _made_in(given.teacher.hidden, given.teacher.head)
        of_teacher = of_teacher.to(dtype).double()
    return own.to(given.dtype).double(), of_teacher


def lean_pull(given: Objective) -> Pull:
    """By the loss of the run itself, in its precision and in two chunks."""
    hidden = given.hidden.clone().requires_grad_()
    with torch.enable_grad():
        made = head_distillation(
            hidden,
            _frozen(given.head),
            given.teacher,
            given.targets,
            given.divergence,
            given.alpha,
            chunk=-(-len(given.targets) // 2),
        )
        scale = FP16_SCALE if given.dtype == torch.float16 else 1.0
        (gradient,) = torch.autograd.grad(made.loss * scale, hidden)
    return Pull(
        made.loss.item(),
        gradient.cpu().double() / scale,
        None,
        made.cross_entropy.item(),
        made.divergence.item(),
    )


def plain_pulls(given: Objective, *logits: tuple[torch.Tensor, torch.Tensor | TopK]) -> list[Pull]:
    """From logits of student and teacher; the head is gone through once for all of them."""
    made = [_plain(given.divergence, given.alpha, given.targets.cpu(), *both) for both in logits]
    to_logits = torch.cat([gradient for _, _, gradient in made])
    to_hidden = to_logits if given.head is None else _to_hidden(to_logits, given.head, given.dtype)
    return [
        Pull(
            of_places.sum().item(),
            gradient,
            of_places,
            plain.cross_entropy.sum().item(),
            plain.divergence.sum().item(),
        )
        for (plain, of_places, _), gradient in zip(
            made, to_hidden.split(len(given.targets)), strict=True
        )
    ]


def apart_from_itself(given: Objective) -> float:
    """For a place; the student's own states are its teacher."""
    own = FromHidden(given.hidden, given.head)
    with torch.no_grad():
        found = head_distillation(
            given.hidden, given.head, own, given.targets, given.divergence, 1.0
        )
    return abs(found.divergence.item()) / len(given.targets)


def by_temperature(
    given: Objective, own: torch.Tensor, of_teacher: torch.Tensor | TopK
) -> float | None:
    """How many times as long the divergence's gradient to logits is as at a temperature of 1.

    What it should be depends on how sure of themselves both models are.
    """
    if given.divergence.temperature == 1 or given.alpha == 0 or isinstance(of_teacher, TopK):
        return None
    lengths = [
        float(_plain(how, 1.0, given.targets.cpu(), own, of_teacher)[2].norm())
        for how in (given.divergence, replace(given.divergence, temperature=1.0))
    ]
    return lengths[0] / lengths[1] if lengths[1] else None


def most_of_itself(temperature: float, logits: torch.Tensor) -> float:
    """What fp32 makes of a 0: logarithms as large as the logits, rounded a few times."""
    largest = logits[logits.isfinite()].abs().max().item()
    return float(16 * torch.finfo(torch.float32).eps * temperature**2 * (1 + largest))


def least_gradient(given: Objective, logits: torch.Tensor) -> float:
    """What fp32 makes of a gradient of 0: probabilities as exact as the logits, under the head."""
    largest = logits[logits.isfinite()].abs().max().item()
    rounding = torch.finfo(torch.float32).eps * (given.divergence.temperature + largest)
    head = given.head
    row = 1.0 if head is None else float(head.weight.detach().norm(dim=1).max())
    return float(ROUNDINGS * rounding * row * math.sqrt(len(given.targets)))


def _plain(
    how: Divergence,
    alpha: float,
    targets: torch.Tensor,
    own: torch.Tensor,
    of_teacher: torch.Tensor | TopK,
) -> tuple[Plain, torch.Tensor, torch.Tensor]:
    """The parts, their mix for each place, and its gradient to the student's logits."""
    own = own.clamp_min(LOWEST).requires_grad_()
    if isinstance(of_teacher, torch.Tensor):
        of_teacher = of_teacher.clamp_min(LOWEST)
    with torch.enable_grad(), torch.autocast("cpu", enabled=False):
        made = plain_distillation(own, of_teacher, targets, how)
        of_places = made.mixed(alpha)
        (to_logits,) = torch.autograd.grad(of_places.sum(), own)
    return made, of_places.detach(), to_logits


def _made_in(hidden: torch.Tensor, head: Head | None) -> torch.dtype:
    """The precision of the logits."""
    kind = hidden.device.type
    if head is None:
        return hidden.dtype
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else head.weight.dtype


def _rows(head: Head, dtype: torch.dtype) -> Iterator[torch.Tensor]:
    for start in range(0, len(head.weight), ROWS):
        yield head.weight.detach()[start : start + ROWS].to(dtype).cpu().double()


def _to_hidden(to_logits: torch.Tensor, head: Head, dtype: torch.dtype) -> torch.Tensor:
    parts = zip(to_logits.split(ROWS, 1), _rows(head, dtype), strict=True)
    with torch.autocast("cpu", enabled=False):
        return torch.stack([error @ rows for error, rows in parts]).sum(0)


def _frozen(head: Head | None) -> Head | None:
    """Its gradient has the size of the head, and is not looked at."""
    if head is None:
        return None
    return Head(head.weight.detach(), None if head.bias is None else head.bias.detach())
