"""A divergence is given probabilities where it takes logarithms, or the other way round.

## What happens
`kl_div(input, target)` takes the logarithms of the student's probabilities and the teacher's
probabilities; with `log_target=True` the logarithms of both. It checks neither: of a `softmax` it
computes `target * (log(target) - input)` all the same, which is not a divergence.

## Why it matters
Nothing is raised. The loss is finite and falls, and the student does not approach the teacher.
Where the second argument holds logarithms, the loss is nan and the gradient points the wrong way.

## What to do
`F.kl_div(F.log_softmax(student, dim=-1), F.softmax(teacher, dim=-1), reduction="batchmean")`, or
`log_softmax` on both sides with `log_target=True`.

## How it is recognised
At every call looked at, each row of the first argument is non-negative and sums to one, or goes
above zero, which no logarithm of a probability does; or the second one is not what `log_target`
says; which side is the student does not matter. In a script that is only read: an argument comes
from `softmax` where a logarithm is taken, or from `log_softmax` where none is.
"""

from collections.abc import Iterator
from math import isnan

from surefit.doctor.causes import was_only_read
from surefit.doctor.conditions.divergences import SidesFit
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.observations import DistributionSeen, DivergenceSeen, Script, Steps
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.laws.case import ONLY_READ
from surefit.laws.losses.divergences import (
    Divergence,
    divergences_in,
    divergences_seen,
    kind_of_side,
    over_looked,
)
from surefit.remedies.log_softmax import GIVEN, LOG_TARGET, PLAIN_TARGET, RAW, SWAPPED, mended
from surefit.source.constants import truth
from surefit.source.edits import Edit

RULE = Rule("SF952", "logarithm-misplaced", Severity.ERROR, __doc__)

ABOVE = 1e-2
"""No logarithm of a probability is above zero, but for rounding."""


@RULE.on(Steps)
def sides_are_not_as_taken(steps: Steps, seen: Recording) -> Iterator[Finding]:
    for one in divergences_seen(steps, seen):
        faults = {fault_seen(call) for call in one.seen if is_finite(call)}
        fault = faults.pop() if len(faults) == 1 else ""
        if fault:
            yield finding(one, fault)


@RULE.on(Script)
def sides_in_the_source_are_not_as_taken(script: Script, seen: Recording) -> Iterator[Finding]:
    source = seen.source(script.file) if was_only_read(seen) else None
    for one in divergences_in(source) if source else ():
        fault = fault_read(one)
        if fault:
            yield finding(one, fault)


def fault_seen(call: DivergenceSeen) -> str:
    given, target = call.given, call.target
    wanted = "logarithms" if call.log_target else "probabilities"
    if not given.kind and given.least < 0 < ABOVE < given.greatest and target.kind == wanted:
        return RAW
    return fault_of(given.kind, target.kind, call.log_target)


def is_finite(call: DivergenceSeen) -> bool:
    """Of a model that has become nan nothing can be told any more."""
    return not any(isnan(side.least + side.greatest) for side in (call.given, call.target))


def fault_read(one: Divergence) -> str:
    said = one.source.argument(one.settings, "log_target")
    log_target = truth(one.source, said) if said is not None else False
    if log_target is None or any(word.arg is None for word in one.settings.keywords):
        return ""
    kinds = kind_of_side(one.source, one.given), kind_of_side(one.source, one.target)
    return fault_of(*kinds, log_target)


def fault_of(given: str, target: str, log_target: bool) -> str:
    if given == "probabilities":
        return SWAPPED if target == "logarithms" and not log_target else GIVEN
    if given == "logarithms" and target == "logarithms" and not log_target:
        return LOG_TARGET
    if given == "logarithms" and target == "probabilities" and log_target:
        return PLAIN_TARGET
    return ""


def finding(one: Divergence, fault: str) -> Finding:
    edit, place, text = mended(one, fault)
    last = one.seen[0] if one.seen else None
    return RULE.finding(
        place,
        headline(one, fault),
        facts=tuple(facts(one, last)) if last else (),
        why=WHY[fault],
        fixes=(fix(one, edit, text, last),),
    )


def headline(one: Divergence, fault: str) -> str:
    given, target = one.shown
    return {
        GIVEN: f"{given} is given to {one.name} as probabilities, where it takes their logarithms.",
        RAW: f"{given} is given to {one.name} as it is, where it takes logarithms of"
        " probabilities.",
        SWAPPED: f"The two sides of {one.name} are swapped: {given} holds"
        f" probabilities, and {target} logarithms.",
        LOG_TARGET: f"{target} holds logarithms, and {one.name} takes it for probabilities.",
        PLAIN_TARGET: f"{target} holds probabilities, and {one.name} with `log_target=True` takes"
        " it for logarithms.",
    }[fault]


WHY = {
    GIVEN: "It multiplies the teacher's probabilities by what it is given and looks for no"
    " logarithm: what comes out is no divergence, and is not minimised when the student equals the"
    " teacher.",
    RAW: "What is no logarithm of a probability can grow for ever, and the loss falls with it: it"
    " is no divergence.",
    SWAPPED: "It takes the logarithm of the second argument, which for a logarithm is nan.",
    LOG_TARGET: "It takes the logarithm of the second argument once more, which is nan, and the"
    " gradient has the wrong sign.",
    PLAIN_TARGET: "It takes `exp` of the second argument, and the exponential of a probability is"
    " between 1 and 2.718: every class weighs about the same.",
}


def facts(one: Divergence, call: DivergenceSeen) -> Iterator[Fact]:
    given, target = one.shown
    yield Fact(f"first, {given}", in_words(call.given))
    yield Fact(f"second, {target}", in_words(call.target))
    if call.per_place is not None:
        less = "; a divergence is never below 0" if call.per_place < 0 else ""
        yield Fact("what comes of it", f"{call.per_place:.3g} a position{over_looked(call)}{less}")


def in_words(side: DistributionSeen) -> str:
    between = f"{side.least:.3g} … {side.greatest:.3g}"
    said = {
        "probabilities": ", each row sums to 1: probabilities",
        "logarithms": ", `exp` of each row sums to 1: logarithms",
    }
    return f"{between}{said.get(side.kind, ': neither probabilities nor their logarithms')}"


def fix(one: Divergence, edit: Edit | None, text: str, call: DivergenceSeen | None) -> Fix:
    if call is None:
        return Fix(text, edit, why_not_tried=ONLY_READ)
    if edit is None:
        return Fix(text, why_not_tried="the argument was not found in your source")
    return Fix(text, edit, SidesFit(one.line, call.step))
