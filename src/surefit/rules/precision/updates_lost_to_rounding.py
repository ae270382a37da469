"""Parameters in float16 or bfloat16 are so coarse that the optimizer's steps round to nothing.

## What happens
A parameter moves to the nearest number that its type has. Near 0.05 those of bfloat16 are 0.00024
apart: a step of 0.00001 falls back to where it began, every time.

## Why it matters
Gradients are right, the optimizer steps, nothing overflows, and most weights never move. The loss
falls slowly or not at all, and a smaller rate, the usual remedy, makes it worse.

## What to do
Keep the parameters in float32 and compute in the lower precision: `torch.autocast` around the
forward pass. Memory allowing nothing else, use an optimizer that keeps what rounding takes (Kahan
summation, stochastic rounding).

## How it is recognised
At the steps looked at, elements with a gradient other than zero are compared to the bit before and
after the step. Reported if of all weights in float16 or bfloat16 at least 80 % stay as they were,
with an optimizer of `torch.optim`, which rounds to the nearest. Measured on GPT-2 and Qwen3 of two
layers in bfloat16, AdamW at 5e-6 loses 92 % of the updates, and the loss falls by 8-19 % of what it
does in float32; but SGD at 1e-2 loses 72-80 % and learns (91-95 %), so the bound is not lower.
In a script that is only read: all parameters that `torch.optim.Adam` or `AdamW` is given are cast
to bfloat16 and its rate is at most 5e-6, or to float16 and it is at most 5e-7.
"""

from collections.abc import Iterator, Sequence
from math import prod

from surefit.doctor.conditions.parameters import NoUpdatesLost
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import OptimizerSeen, ParameterSeen, Script, Steps
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.words import counted, spoken
from surefit.interpreter.contracts.optimizers import StepsRounded
from surefit.interpreter.wording import ONLY_READ
from surefit.laws.case import Case
from surefit.laws.training.made_names import name_at
from surefit.remedies.in_float32 import Chosen, choices

RULE = Rule("SF701", "updates-lost-to-rounding", Severity.ERROR, __doc__)

MOST_LOST = 0.8
MOST_LEFT = 0.5
"""What a fix may leave: of many tiny gradients even float32 loses some."""
HALVES = {"float16": 10, "bfloat16": 7}
"""Types, and how many bits of a number's fraction they keep."""
ROUND_TO_NEAREST = (
    *("Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "ASGD", "LBFGS", "NAdam", "RAdam"),
    *("RMSprop", "Rprop", "SGD", "Adafactor", "Muon"),
)
FEWEST_LOOKS = 2
FEWEST_SAMPLED = 100
PROOF_STEPS = 3


@RULE.on(Steps)
def steps_round_to_nothing(steps: Steps, recording: Recording) -> Iterator[Finding]:
    if steps.process.rank not in (None, 0):
        return
    for optimizer in steps.optimizers:
        own = [known for known in steps.parameters if known.held_by == optimizer.serial]
        held = [known for known in own if known.dtype in HALVES and known.sampled]
        if can_be_judged(optimizer, held) and lost_share(held) >= MOST_LOST and was_meant(held):
            yield finding(optimizer, held, steps, recording)


def can_be_judged(optimizer: OptimizerSeen, held: Sequence[ParameterSeen]) -> bool:
    """Enough was looked at, and the optimizer is none that keeps what rounding takes."""
    enough = sum(parameter.sampled for parameter in held) >= FEWEST_SAMPLED
    return enough and optimizer.looked >= FEWEST_LOOKS and optimizer.kind in ROUND_TO_NEAREST


def lost_share(held: Sequence[ParameterSeen]) -> float:
    """Of all weights: a tensor counts by its size, not by how many of its elements were sampled."""
    lost = sum(prod(known.shape) * known.unchanged / known.sampled for known in held)
    return lost / max(sum(prod(known.shape) for known in held), 1)


def was_meant(held: Sequence[ParameterSeen]) -> bool:
    """Where the size of the updates is known, some are not zero, and they are too small to see."""
    pairs = [(parameter.update, parameter.spacing) for parameter in held]
    known = [pair for pair in pairs if None not in pair]
    return not known or any(0 < (update or 0) < (spacing or 0) for update, spacing in known)


def finding(
    optimizer: OptimizerSeen, held: Sequence[ParameterSeen], steps: Steps, recording: Recording
) -> Finding:
    dtype, main = held[0].dtype, next((script.file for script in recording.all(Script)), "")
    chosen = [choice for source in recording.sources() for choice in choices(source, dtype)]
    place = chosen[0].place if len(chosen) == 1 else optimizer.made_at or steps.loss_at
    name = name_at(recording.source(optimizer.made_at), optimizer.made_at) or optimizer.kind
    ruled_out = [Fact("no gradient", "every element counted had one other than zero")]
    if not steps.skipped:
        none = f"none of {counted(steps.steps, 'step')} was left out"
        ruled_out.append(Fact("skipped steps", none))
    if not any(parameter.not_finite for parameter in held):
        ruled_out.append(Fact("overflow", "no gradient was infinite or not a number"))
    return RULE.finding(
        place or Place(main),
        f"{lost_share(held):.1%} of the weights that `{name}` is to change stay as they are: in"
        f" `{dtype}` its steps round to nothing.",
        facts=tuple(facts(optimizer, held, name)),
        ruled_out=ruled_out,
        why=f"`{dtype}` keeps {HALVES[dtype]} bits of a number's fraction. A step smaller than half"
        " the distance to the next number leaves a weight where it was, however often it is taken.",
        fixes=(in_float32(chosen),),
    )


def facts(optimizer: OptimizerSeen, held: Sequence[ParameterSeen], name: str) -> Iterator[Fact]:
    dtype = held[0].dtype
    sampled = sum(parameter.sampled for parameter in held)
    unchanged = sum(parameter.unchanged for parameter in held)
    looked = counted(optimizer.looked, "step")
    elements = f"{unchanged:,} of {sampled:,} elements with a gradient, at {looked} looked at"
    yield Fact("unchanged to the bit", elements)
    known = [parameter for parameter in held if parameter.update and parameter.spacing]
    if known:
        largest = max(known, key=lambda parameter: prod(parameter.shape))
        apart = f"where `{dtype}` numbers are {largest.spacing:.2g} apart"
        yield Fact(f"`{largest.name}`", f"a step of {largest.update:.2g} {apart}")
    yield Fact(f"rate of `{name}`", f"{optimizer.highest_rate:g} at most, {optimizer.kind}")
    tensors = counted(len(held), "tensor")
    yield Fact(f"in `{dtype}`", f"{tensors} of the optimizer's {optimizer.tensors:,}")


def in_float32(chosen: Sequence[Chosen]) -> Fix:
    text = "Keep the parameters in float32; compute in the lower precision under `torch.autocast`."
    if len(chosen) != 1:
        places = spoken(str(choice.place) for choice in chosen) if chosen else "no line for certain"
        return Fix(f"{text} The precision is chosen at {places}.", choice=True)
    must = NoUpdatesLost(MOST_LEFT, changes_the_past=True, steps=PROOF_STEPS)
    return Fix(text, chosen[0].in_float32, must)


@RULE.on(StepsRounded)
def rate_in_the_source_is_too_small(broken: StepsRounded, _: Case) -> Finding:
    text = "Keep the weights in float32 and compute under `torch.autocast`."
    return RULE.finding(
        broken.cast_at,
        f"The weights are `{broken.dtype}`, in which nearly all steps of `{broken.kind}` at a rate"
        f" of {broken.rate:g} round to nothing.",
        facts=(Fact("the optimizer", broken.optimizer),),
        why="A parameter moves to the nearest number that its type has, which is the one where"
        " it stands.",
        fixes=(Fix(text, why_not_tried=ONLY_READ),),
        severity=Severity.WARNING,
    )
