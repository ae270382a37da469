"""Updates so small that the weights they are meant for would not move."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import nn

from surefit.doctor.findings import COMMAND_LINE, Fact, Finding, Fix
from surefit.doctor.rule import refusal
from surefit.models.shards import held_here

UPDATES_LOST = refusal(
    "SF166", "updates-lost", "Steps at this learning rate round to nothing in the trained weights."
)

MOST_LOST = 0.5
"""Of bfloat16 weights a rate of 1e-4 loses a third and learns nine tenths as much as in fp32;
1e-5 loses six sevenths and learns a fifth (GPT-2 and Qwen3 of two layers, 100 steps)."""

ADAM_EPSILON = 1e-8
SAMPLE = 65_536
"""Elements looked at in one tensor, evenly spread."""


@dataclass(frozen=True, slots=True)
class LostUpdates:
    """What Adam's first step at the highest rate does to weights of one type."""

    dtype: torch.dtype
    learning_rate: float
    share: float
    """Of the weights that are not 0, those that stay as they were to the bit; a weight at 0 takes
    any step."""

    tensors: int
    least_rate: float
    """Below it more than `MOST_LOST` of them stay."""

    example: float
    """A weight of middling size, and how far its neighbours in this type are."""
    spacing: float


def lost_updates(
    trained: Iterable[nn.Parameter], learning_rate: float, epsilon: float = ADAM_EPSILON
) -> list[LostUpdates]:
    """One entry for each type that trained weights are held in.

    The step is made from the gradients that the weights carry. A weight without one is taken to
    move by the learning rate, the most that Adam's first step does: adapters that begin at 0 keep
    their partners' first gradient at 0.
    """
    kinds: dict[torch.dtype, list[nn.Parameter]] = {}
    for parameter in trained:
        kinds.setdefault(parameter.dtype, []).append(parameter)
    found = [_lost(kind, held, learning_rate, epsilon) for kind, held in kinds.items()]
    return [lost for lost in found if lost is not None]


def refused(lost: LostUpdates) -> bool:
    return lost.share > MOST_LOST


def finding(lost: LostUpdates) -> Finding:
    dtype = str(lost.dtype).removeprefix("torch.")
    coarse = lost.dtype != torch.float32
    return UPDATES_LOST.finding(
        COMMAND_LINE,
        f"{lost.share:.1%} of the trainable weights would not change: at a learning rate of "
        f"{lost.learning_rate:g} their updates round to zero in `{dtype}`.",
        facts=[
            Fact(
                f"a weight of {lost.example:.2g}",
                f"the next representable value is {lost.spacing:.2g} away",
            ),
            Fact("largest update", f"{lost.learning_rate:.2g}"),
            Fact(f"in `{dtype}`", f"{lost.tensors:,} trainable tensors"),
        ],
        why="An update smaller than half the distance to the next representable value leaves the "
        "weight unchanged, however often it is applied.",
        fixes=[
            *([Fix("Keep the trainable weights in float32.")] if coarse else []),
            Fix(
                f"Use a learning rate of at least {lost.least_rate:.2g}:  --learning-rate "
                f"{lost.least_rate:.2g}"
            ),
        ],
    )


def _lost(
    dtype: torch.dtype, held: list[nn.Parameter], learning_rate: float, epsilon: float
) -> LostUpdates | None:
    samples = [_sample(parameter, epsilon) for parameter in held]
    weights = torch.cat([weight for weight, _, _ in samples])
    if not len(weights):
        return None
    steps = torch.cat([step for _, step, _ in samples]) * learning_rate
    counts = torch.cat([count for _, _, count in samples])
    exact = weights.double()
    stay = (exact - steps).to(dtype) == weights
    share = float((counts * stay).sum() / counts.sum())
    spacing = _spacing(exact, dtype)
    middle = int(exact.abs().argsort()[len(exact) // 2])
    needed = spacing / 2 / (steps / learning_rate).abs()
    return LostUpdates(
        dtype,
        learning_rate,
        share,
        len(held),
        _least(needed, counts),
        float(exact[middle].abs()),
        float(spacing[middle]),
    )


def _sample(
    parameter: nn.Parameter, epsilon: float
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Weights other than 0; Adam's first step for a rate of 1; how many weights each stands for."""
    held = held_here(parameter.detach())
    every = max(1, math.ceil(held.numel() / SAMPLE))
    weights = held.flatten()[::every].cpu()
    if parameter.grad is None:
        gradient = torch.zeros(len(weights), dtype=torch.float64)
    else:
        gradient = held_here(parameter.grad.detach()).flatten()[::every].cpu().double()
    known = gradient.isfinite() & (gradient != 0)
    step = torch.where(known, gradient / (gradient.abs() + epsilon), 1.0)
    counted = weights != 0
    stands_for = torch.full((int(counted.sum()),), float(every), dtype=torch.float64)
    return weights[counted], step[counted], stands_for


def _spacing(weights: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The distance from each weight to the next larger one that `dtype` has."""
    about = torch.finfo(dtype)
    _, exponent = torch.frexp(weights.abs().clamp(min=about.tiny))
    return torch.ldexp(torch.full_like(weights, about.eps), exponent - 1)


def _least(needed: torch.Tensor, counts: torch.Tensor) -> float:
    """The rate at which the share that stays falls to `MOST_LOST`, rounded up to two digits."""
    order = needed.argsort()
    moved = counts[order].cumsum(0) / counts.sum()
    enough = int((moved >= 1 - MOST_LOST).nonzero()[0])
    rate = 1.1 * float(needed[order[enough]])
    digit = 10.0 ** (math.floor(math.log10(rate)) - 1)
    return math.ceil(rate / digit) * digit
