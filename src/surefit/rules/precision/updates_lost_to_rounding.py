"""Parameters in float16 or bfloat16 are so coarse that the optimizer's steps round to nothing.

## What happens
A parameter moves to the nearest number that its type has. Between one power of two and the next
bfloat16 has 128 numbers, float16 1024. Near 0.05 those of bfloat16 are 0.00024 apart: a step of
0.00001 falls back to where it began, every time.

## Why it matters
Gradients are right, the optimizer steps, nothing overflows, and most weights never move. The loss
falls slowly or not at all, and a smaller rate, the usual remedy, makes it worse.

## What to do
Keep the parameters in float32 and compute in the lower precision: `torch.autocast` around the
forward pass. Memory allowing nothing else, use an optimizer that keeps what rounding takes (Kahan
summation, stochastic rounding).

## How it is recognised
At the steps looked at, elements with a gradient other than zero are compared to the bit before and
after the step. Reported if of all weights in float16 or bfloat16 at least 90 % stay as they were,
with an optimizer of `torch.optim`, which rounds to the nearest. Measured on GPT-2 and Qwen3 of two
layers in bfloat16 over 100 steps, against the same in float32:

    AdamW, rate 1e-4          26-33 % lost     the loss falls by 93-95 % as much
    AdamW, rate 1e-5          85-86 % lost     16-28 %
    AdamW, rate 5e-6          92-93 % lost      8-19 %
    SGD, rate 1e-2            72-80 % lost     91-95 %
    SGD, rate 1e-3            95-97 % lost     22-47 %

With SGD many small gradients may be lost while the large ones do the work, so a lower bound would
report runs that learn. Where no update was meant (a rate of zero), nothing is reported.

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
from surefit.evidence.low_precision import Chosen, choices
from surefit.evidence.made_names import name_at
from surefit.interpreter import violations, wording

RULE = Rule("SF701", "updates-lost-to-rounding", Severity.ERROR, __doc__)

MOST_LOST = 0.9
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
def steps_round_to_nothing(steps: Steps, seen: Recording) -> Iterator[Finding]:
    for optimizer in steps.optimizers:
        held = [
            one for one in steps.parameters if is_coarse(one) and one.held_by == optimizer.serial
        ]
        if not held or steps.process.rank not in (None, 0) or not can_be_judged(optimizer, held):
            continue
        share = lost_share(held)
        if share >= MOST_LOST and was_meant(held):
            yield finding(optimizer, held, share, steps, seen)


def is_coarse(one: ParameterSeen) -> bool:
    return one.dtype in HALVES and one.sampled > 0


def can_be_judged(optimizer: OptimizerSeen, held: Sequence[ParameterSeen]) -> bool:
    """Enough was seen, and the optimizer is none that keeps what rounding takes."""
    enough = sum(one.sampled for one in held) >= FEWEST_SAMPLED
    return enough and optimizer.looked >= FEWEST_LOOKS and optimizer.kind in ROUND_TO_NEAREST


def lost_share(held: Sequence[ParameterSeen]) -> float:
    """Of all weights: a tensor counts by its size, not by how many of its elements were sampled."""
    sizes = [prod(one.shape) for one in held]
    lost = sum(size * one.unchanged / one.sampled for size, one in zip(sizes, held, strict=True))
    return lost / max(sum(sizes), 1)


def was_meant(held: Sequence[ParameterSeen]) -> bool:
    """Where the size of the updates is known, some are not zero, and they are too small to see."""
    known = [one for one in held if one.update is not None and one.spacing is not None]
    return not known or any(0 < (one.update or 0) < (one.spacing or 0) for one in known)


def finding(
    optimizer: OptimizerSeen,
    held: Sequence[ParameterSeen],
    share: float,
    steps: Steps,
    seen: Recording,
) -> Finding:
    dtype = held[0].dtype
    chosen = [
        one for script in seen.all(Script) for one in choices(seen.source(script.file), dtype)
    ]
    place = chosen[0].place if len(chosen) == 1 else optimizer.made_at or steps.loss_at
    main = next((script.file for script in seen.all(Script)), "the script")
    name = name_at(seen.source(optimizer.made_at), optimizer.made_at) or optimizer.kind
    return RULE.finding(
        place or Place(main),
        f"{share:.1%} of the weights that `{name}` means to change stay as they are: in `{dtype}`"
        " its steps round to nothing.",
        facts=tuple(facts(optimizer, held, dtype, name)),
        ruled_out=tuple(ruled_out(held, steps)),
        why=f"`{dtype}` keeps {HALVES[dtype]} bits of a number's fraction. A step smaller than half"
        " the distance to the next number leaves a weight where it was, however often it is taken.",
        fixes=tuple(fixes(chosen)),
    )


def facts(
    optimizer: OptimizerSeen, held: Sequence[ParameterSeen], dtype: str, name: str
) -> Iterator[Fact]:
    sampled, unchanged = sum(one.sampled for one in held), sum(one.unchanged for one in held)
    yield Fact(
        "unchanged to the bit",
        f"{unchanged:,} of {sampled:,} elements with a gradient, at"
        f" {counted(optimizer.looked, 'step')} looked at",
    )
    worst = max(
        (one for one in held if one.update and one.spacing),
        key=lambda one: prod(one.shape),
        default=None,
    )
    if worst is not None:
        yield Fact(
            f"`{worst.name}`",
            f"a step of {worst.update:.2g} where `{dtype}` numbers are {worst.spacing:.2g} apart",
        )
    yield Fact(f"rate of `{name}`", f"{optimizer.highest_rate:g} at most, {optimizer.kind}")
    yield Fact(
        f"in `{dtype}`", f"{counted(len(held), 'tensor')} of the optimizer's {optimizer.tensors:,}"
    )


def ruled_out(held: Sequence[ParameterSeen], steps: Steps) -> Iterator[Fact]:
    yield Fact("no gradient", "every element counted had one other than zero")
    if steps.skipped == 0:
        yield Fact("skipped steps", f"none of {counted(steps.steps, 'step')} was left out")
    if not any(one.not_finite for one in held):
        yield Fact("overflow", "no gradient was infinite or not a number")


def fixes(chosen: Sequence[Chosen]) -> Iterator[Fix]:
    text = "Keep the parameters in float32; compute in the lower precision under `torch.autocast`."
    if len(chosen) != 1:
        where = spoken(str(one.place) for one in chosen) if chosen else "nowhere for certain"
        yield Fix(
            text, why_not_tried=f"the precision is chosen at {where}: no single line to change"
        )
        return
    must = NoUpdatesLost(MOST_LEFT, changes_the_past=True, steps=PROOF_STEPS)
    yield Fix(text, chosen[0].in_float32, must)


@RULE.on(Script)
def rate_in_the_source_is_too_small(script: Script, seen: Recording) -> Iterator[Finding]:
    for source, one in wording.violations_in(script, seen, violations.UpdatesLostToRounding):
        yield RULE.finding(
            wording.place_of(source, one.cast),
            f"The weights are `{one.dtype}`, in which nearly all steps of `{one.kind}` at a rate of"
            f" {one.rate:g} round to nothing.",
            facts=(Fact("the optimizer", wording.line_at(source, one.node)),),
            why="A parameter moves to the nearest number that its type has, which is the one where"
            " it stands.",
            fixes=(
                Fix(
                    "Keep the weights in float32 and compute under `torch.autocast`.",
                    why_not_tried=wording.ONLY_READ,
                ),
            ),
            severity=Severity.WARNING,
        )
