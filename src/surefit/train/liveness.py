"""Whether an objective is alive: what it is and where it pulls, on a few places of a real batch."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import torch
from torch import nn

from surefit.doctor.findings import Fact, Finding, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput, refuse_if
from surefit.losses.divergence import Divergence
from surefit.losses.teacher import Head, Teacher, TopK

from .lost_updates import finding as updates_lost
from .lost_updates import lost_updates, refused
from .objective import (
    ROUNDINGS,
    Objective,
    Pull,
    apart_from_itself,
    by_temperature,
    few_places,
    lean_pull,
    least_gradient,
    logits_of,
    most_of_itself,
    plain_pulls,
    rounded_logits,
    teacher_logits,
)
from .preflight import BAD_LOSS

NOT_AS_DEFINED = refusal(
    "SF071", "loss-not-as-defined", "The computed loss differs from its definition."
)
NO_PULL = refusal("SF072", "objective-without-gradient", "The loss gives the student no gradient.")
CLAMPED = refusal("SF073", "clamped-logits", "Most logits of a model are clamped to one value.")
FLAT = refusal("SF074", "flat-logits", "A model gives every token the same probability.")

MOST_CLAMPED = 0.5
"""Of the logits. Unused tokens with equal rows of the head share a value; half of all do not."""

DIFFERENCE = {torch.bfloat16: 5e-2, torch.float16: 1e-2}
"""Largest relative difference from float64 of a loss that is the same, beside what the rounding of
logits alone makes of it; 1e-4 in fp32. Half precisions round the gradients of logits, too."""

MODEL = Place("model")


@dataclass(frozen=True, slots=True)
class Alive:
    """What was measured of an objective."""

    places: int
    of_itself: float
    """The divergence of the student from itself, for a place: 0 but for rounding."""

    difference: float
    """Of the lean loss or of its gradient from the plain form in float64, relative: the larger."""

    gradient: float
    """The length of the mean loss's gradient to the student's hidden states."""

    by_temperature: float | None
    """How many times as long the divergence's gradient is as at a temperature of 1."""

    clamped: float
    """The share of the student's logits that share the largest or the smallest value."""

    uniform: bool
    """Whether the student's cross entropy is that of a uniform distribution, to 1e-4 of it."""

    same: bool
    """Whether student and teacher say the same, to the last bit that the loss can see."""

    updates_lost: float | None = None
    """The share of weights whose updates would round to nothing: see `check_updates`."""

    def __str__(self) -> str:
        told = [
            f"KL(p,p) {self.of_itself:.1e}",
            f"chunked = naive to {self.difference:.1e}",
            f"gradient {self.gradient:.4g}",
        ]
        if self.by_temperature is not None:
            told.append(f"divergence {self.by_temperature:.2g} times that at temperature 1")
        if self.clamped > 0.01:
            told.append(f"{100 * self.clamped:.1f} % of logits at one value")
        if self.uniform:
            told.append("the student's distribution is uniform")
        if self.same:
            told.append("student and teacher are identical")
        if self.updates_lost is not None:
            told.append(f"{100 * self.updates_lost:.1f} % of updates lost")
        return f"Objective: {', '.join(told)}"


def check_objective(
    hidden: torch.Tensor,
    head: Head | None,
    teacher: Teacher,
    targets: torch.Tensor,
    divergence: Divergence,
    alpha: float,
) -> Alive:
    """What is given as the loss takes it; at most 32 places of it are looked at.

    Raises `BadInput` for an objective that cannot train: one that is not what it is called, or
    that pulls nowhere. Gradients that are there stay as they are.
    """
    given = few_places(Objective(hidden, head, teacher, targets, divergence, alpha))
    if not len(given.targets):
        raise BadInput(_nowhere(given, "the batch has no supervised position"))
    own, of_teacher = logits_of(given.hidden, given.head), teacher_logits(given.teacher)
    refuse_if(_not_numbers(own, of_teacher))
    refuse_if(_one_value(given, own, of_teacher))
    lean, in_precision = lean_pull(given), rounded_logits(given, own, of_teacher)
    plain, rounded = plain_pulls(given, (own, of_teacher), in_precision)
    of_itself = apart_from_itself(given)
    refuse_if(_other_than_defined(given, lean, plain, rounded, of_itself, own))
    same = isinstance(of_teacher, torch.Tensor) and torch.equal(own, of_teacher)
    refuse_if(_pulls_nowhere(given, lean, same))
    places = len(given.targets)
    level = math.log(own.shape[1])
    return Alive(
        places=places,
        of_itself=of_itself,
        difference=max(_relative(lean.loss, plain.loss), _apart(lean.gradient, plain.gradient)),
        gradient=lean.gradient.norm().item() / places,
        by_temperature=by_temperature(given, own, of_teacher),
        clamped=_share_at_an_end(own),
        uniform=abs(lean.cross_entropy / places - level) <= 1e-4 * level,
        same=same or lean.divergence == 0,
    )


def check_updates(alive: Alive, trained: Iterable[nn.Parameter], learning_rate: float) -> Alive:
    """The same with the share of updates that this rate would lose; raises `BadInput` for most."""
    lost = lost_updates(trained, learning_rate)
    refuse_if(updates_lost(one) for one in lost if refused(one))
    return replace(alive, updates_lost=max((one.share for one in lost), default=0.0))


def _not_numbers(own: torch.Tensor, of_teacher: torch.Tensor | TopK) -> Iterator[Finding]:
    of_teacher = of_teacher.log_probabilities if isinstance(of_teacher, TopK) else of_teacher
    for whose, logits in (("student", own), ("teacher", of_teacher)):
        # -inf is how models rule out a token.
        bad = logits.isnan() | (logits == torch.inf) | logits.isneginf().all(1, keepdim=True)
        if bad.any():
            yield BAD_LOSS.finding(
                MODEL,
                f"{int(bad.sum()):,} of {bad.numel():,} logits of the {whose} are NaN or infinite, "
                "before any training.",
                facts=[Fact("affected positions", f"{int(bad.any(1).sum())} of {len(bad)}")],
                why="The loss at such a position is NaN, and so is every gradient.",
                fixes=[
                    Fix(
                        "Try `--precision fp32`. If the logits stay so, the weights of the "
                        f"{whose} are damaged."
                    )
                ],
            )


def _one_value(
    given: Objective, own: torch.Tensor, of_teacher: torch.Tensor | TopK
) -> Iterator[Finding]:
    """A student whose head begins at 0 is flat for one step only, if that head is trained."""
    begins = given.head is not None and given.head.weight.requires_grad
    if not begins and not (given.head is None and not own.any()):
        yield from _stuck("student", own)
    if given.alpha > 0 and isinstance(of_teacher, torch.Tensor):
        yield from _stuck("teacher", of_teacher)


def _stuck(whose: str, logits: torch.Tensor) -> Iterator[Finding]:
    tokens = logits.shape[1]
    where = [Fact("checked", f"{len(logits)} positions x {tokens:,} tokens")]
    if tokens > 1 and bool((logits.amax(1) == logits.amin(1)).all()):
        yield FLAT.finding(
            MODEL,
            f"The {whose} gives all {tokens:,} tokens the same logit at every position: its "
            f"cross entropy is ln({tokens}) = {math.log(tokens):.4f} for any input.",
            facts=[Fact("the logit", f"{logits[0, 0].item():.6g}"), *where],
            why="Its head is constant, or a clamp makes all logits equal, so there is no gradient.",
            fixes=[Fix(f"Load a {whose} with trained head weights.")],
        )
    elif (share := _share_at_an_end(logits)) > MOST_CLAMPED:
        ends = f"{logits.min().item():.6g} or {logits.max().item():.6g}"
        yield CLAMPED.finding(
            MODEL,
            f"{share:.1%} of the {whose}'s logits are exactly {ends}, the ends of their range.",
            facts=where,
            why="A clamp has no gradient outside its range, and hides which token is more likely.",
            fixes=[Fix("Remove the clamp: the log-softmax of finite logits is finite.")],
        )


def _share_at_an_end(logits: torch.Tensor) -> float:
    """Beyond the one largest and the one smallest that there must be."""
    logits = logits[logits.isfinite()]
    low, high = logits.min(), logits.max()
    at_an_end = int((logits == high).sum()) - 1
    if low < high:
        at_an_end += int((logits == low).sum()) - 1
    return at_an_end / logits.numel()


def _other_than_defined(
    given: Objective,
    lean: Pull,
    plain: Pull,
    rounded: Pull,
    of_itself: float,
    own: torch.Tensor,
) -> Iterator[Finding]:
    most = DIFFERENCE.get(given.dtype, 1e-4)
    assert plain.of_places is not None
    assert rounded.of_places is not None
    by_rounding = (rounded.of_places - plain.of_places).abs().sum().item()
    value = abs(lean.loss - plain.loss)
    itself_most = most_of_itself(given.divergence.temperature, own)
    places, temperature = len(given.targets), given.divergence.temperature
    value_most = most * abs(plain.loss) + ROUNDINGS * by_rounding + places * itself_most
    apart = (lean.gradient - plain.gradient).norm().item()
    apart_most = most * plain.gradient.norm().item()
    apart_most += ROUNDINGS * (rounded.gradient - plain.gradient).norm().item()
    apart_most += least_gradient(given, own)
    if value <= value_most and apart <= apart_most and of_itself <= itself_most:
        return
    yield NOT_AS_DEFINED.finding(
        MODEL,
        f"On {places} positions of the first batch the loss is {lean.loss / places:.6g}; computed "
        f"by definition in float64 it is {plain.loss / places:.6g}.",
        facts=[
            Fact("objective", f"{given.alpha:g} of {given.divergence}"),
            Fact("loss", f"differs by {value / places:.2g}, at most {value_most / places:.2g}"),
            Fact("gradient", f"differs by {apart:.2g}, at most {apart_most:.2g}"),
            Fact("of the student from itself", f"{of_itself:.2g}, at most {itself_most:.2g}"),
        ],
        why=_missing_factor(given, lean, plain)
        or f"At temperature {temperature:g} training would minimise another loss than requested.",
        fixes=[
            Fix("This is a bug in surefit, or in torch on this device:  surefit check --self-test")
        ],
    )


def _missing_factor(given: Objective, lean: Pull, plain: Pull) -> str:
    """Says so where the divergence is short of the square of the temperature, or part of it."""
    temperature = given.divergence.temperature
    for power in (1, 2):
        if temperature != 1 and math.isclose(
            lean.divergence * temperature**power, plain.divergence, rel_tol=0.01
        ):
            return (
                f"The divergence is {temperature**power:g} times too small: its factor of "
                f"{temperature:g} squared is missing, so that its weight beside cross entropy "
                "depends on the temperature."
            )
    return ""


def _pulls_nowhere(given: Objective, lean: Pull, same: bool) -> Iterator[Finding]:
    length = lean.gradient.norm().item()
    if not math.isfinite(length):
        yield _nowhere(given, f"the gradient norm is {length}")
    elif same and given.alpha == 1:
        yield _nowhere(
            given,
            "student and teacher are identical to the bit, and the loss is their divergence alone",
        )
    elif length == 0 and not (given.head is not None and given.head.weight.requires_grad):
        loss = lean.loss / len(given.targets)
        yield _nowhere(given, f"the gradient is exactly 0, at a loss of {loss:.4f}")


def _nowhere(given: Objective, reason: str) -> Finding:
    return NO_PULL.finding(
        MODEL,
        f"The loss gives the student's hidden states no gradient: {reason}.",
        facts=[
            Fact("checked", f"{len(given.targets)} supervised positions of the first batch"),
            Fact("objective", f"{given.alpha:g} of {given.divergence}"),
        ],
        why="No optimizer step can improve the student.",
        fixes=[
            Fix(
                "Check that teacher and student are different models, and that the student's head "
                "is trained."
            )
        ],
    )


def _relative(one: float, other: float) -> float:
    return abs(one - other) / abs(other) if other else abs(one)


def _apart(some: torch.Tensor, others: torch.Tensor) -> float:
    length, difference = float(others.norm()), float((some - others).norm())
    return difference / length if length else difference
