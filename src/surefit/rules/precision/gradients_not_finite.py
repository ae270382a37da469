"""Gradients become NaN or infinite in the backward pass: every step is skipped, or weights are NaN.

## What happens
A value can be finite and its gradient not: the slope of `sqrt` at 0 is infinite, and infinity
times zero is NaN. A gradient scaler skips each step with such a gradient. Without one, a single
step makes every weight NaN; `nan_to_num` around the loss hides that from the log, and its backward
pass does not keep NaN from the weights.

## Why it matters
The run goes on to its end. With a scaler the model is exactly what it was before; without, it is
NaN, and the printed loss can be 0.

## What to do
Mend the operation that the gradient is lost in: a small number under the root
(`x.clamp_min(1e-12).sqrt()`), rows with missing targets left out before the loss is computed.

## How it is recognised
A scaler left out nine steps in ten or more, eight at least; or weights hold NaN. A second run
holds, in every function of the backward pass, the gradients that came in against those that went
out, and finds the first that made good ones bad, and where in the forward pass a NaN first was. A
scaler that skips a few steps to find its scale is not reported.
"""

from collections.abc import Iterator

from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.gradient_births import ForwardValue, GradientBirth
from surefit.doctor.rule import Rule
from surefit.doctor.words import code, shape_of
from surefit.laws.case import Case, Remedy
from surefit.laws.invariants.weights_learn import EveryStepSkipped, WeightsAreNan
from surefit.laws.law import BrokenLaw
from surefit.laws.losses.birth_words import reason
from surefit.laws.runs import law_holds
from surefit.laws.training.rounds import innermost
from surefit.remedies.away_from_the_pole import kept_finite
from surefit.remedies.known_rows import only_known_rows

RULE = Rule("SF711", "gradients-not-finite", Severity.ERROR, __doc__)

WRITTEN = (
    *("__setitem__", "index_put_", "tensor", "as_tensor", "full", "full_like", "fill_"),
    *("masked_fill", "masked_fill_", "where"),
)
"""Operations that are given the number that they put into a tensor."""


@RULE.on(EveryStepSkipped)
def scaler_skips_every_step(broken: EveryStepSkipped, case: Case) -> Finding | None:
    return explained(broken, case, broken.taken)


@RULE.on(WeightsAreNan)
def weights_are_not_numbers(broken: WeightsAreNan, case: Case) -> Finding | None:
    return explained(broken, case, broken.by)


def explained(broken: BrokenLaw, case: Case, step: int) -> Finding | None:
    birth = case.ask(GradientBirth, what="nan", step=step)
    if birth is None:
        return None
    culprit = culprit_of(birth)
    place = culprit.stack[-1].place if culprit is not None and culprit.stack else None
    scaled = isinstance(broken, EveryStepSkipped)
    return case.finding(
        place or broken.use.place,
        f"{broken.said} {how(birth, written_at(case, culprit))}",
        facts=(*broken.facts, *facts(birth, scaled)),
        why=why(birth),
        remedies=tuple(remedies(broken, case, birth)),
    )


def culprit_of(birth: GradientBirth) -> ForwardValue | None:
    """What to look at: the operation that made the first bad value; of bad data, where the graph
    meets it; where no value was bad, the operation whose gradient is."""
    if comes_with_the_data(birth):
        return birth.met or birth.source
    return birth.source or birth.operation


def comes_with_the_data(birth: GradientBirth) -> bool:
    """No operation computed it: it was read, or written into a tensor as a mark."""
    return birth.source is not None and birth.source.name in ("given", *WRITTEN)


def how(birth: GradientBirth, written: str) -> str:
    origin, met = birth.source, birth.met
    first = f"at backward pass {birth.passes + 1:,}"
    if origin is not None and comes_with_the_data(birth):
        name = (met.holder if met is not None else "") or origin.holder
        what = f"`{name}`" if name else "What goes in"
        return (
            f"{what} holds NaN or infinity in {written}: {first} every gradient is NaN, whatever"
            " the loss is turned into afterwards."
        )
    if origin is not None and origin.name == "parameter":
        return f"A parameter held NaN from the beginning ({origin.bad:,} elements)."
    if origin is not None:
        said = reason(origin)
        because = f" ({said})" if said else ""
        return (
            f"`{origin.name}` in {written} gives NaN or infinity{because}; {first} every gradient"
            " is NaN."
        )
    name = birth.operation.name if birth.operation is not None else birth.function
    return f"The gradient of `{name}` in {written} is not finite ({first}), though its value is."


def facts(birth: GradientBirth, scaled: bool) -> Iterator[Fact]:
    yield Fact("first bad gradient", f"out of {birth.function}, after {birth.step:,} steps")
    if birth.loss is not None and not scaled:
        yield Fact("the loss there", f"{birth.loss:.5g}")
    if birth.operation is not None and birth.operation.stack:
        yield Fact("its operation", f"{birth.operation.name} at {birth.operation.stack[-1].place}")
    origin = birth.source
    if origin is not None and comes_with_the_data(birth):
        share = f"{origin.bad:,} of {origin.elements:,} elements"
        yield Fact("in the data", f"{share} of a tensor {shape_of(origin.shape)} are not finite")
        if origin.name in WRITTEN and origin.stack:
            yield Fact("written at", str(origin.stack[-1].place))
    elif origin is not None and origin.least is not None and origin.greatest is not None:
        yield Fact("what went in", f"{origin.least:.4g} … {origin.greatest:.4g}")


def why(birth: GradientBirth) -> str:
    if comes_with_the_data(birth):
        return (
            "Zero times NaN is NaN: `nan_to_num`, a mask or a weight of 0 after the operation"
            " mend the loss that is printed, and not its gradient."
        )
    if birth.source is not None:
        return "NaN spreads through every operation that takes it, forwards and backwards."
    return (
        "The slope is infinite where the function has a pole or a vertical tangent (`sqrt` at 0,"
        " `log` at 0), and infinity times zero is NaN. One NaN in a gradient reaches every"
        " parameter before it."
    )


def written_at(case: Case, value: ForwardValue | None) -> str:
    here = innermost(case.recording, value.stack) if value is not None else None
    if here is None or not here.is_simple:
        return "the backward pass"
    line = here.source.segment(here.statement).split("\n")[0]
    return code(line)


def remedies(broken: BrokenLaw, case: Case, birth: GradientBirth) -> Iterator[Remedy | Fix]:
    must = law_holds(broken)
    if comes_with_the_data(birth):
        missing = birth.met or birth.source
        if missing is not None and missing.holder:
            yield from filter(None, [only_known_rows(case, missing, must)])
        yield Fix(
            "Leave out what is missing before the loss is computed (`torch.isfinite`), or fill it"
            " in where the data is read.",
            choice=True,
        )
        return
    value = birth.source or birth.operation
    if value is not None and value.stack:
        yield from kept_finite(case, value, must)
    yield Fix(
        "Keep what goes in away from where the slope is infinite. If numbers grew from step to step"
        " until they overflowed, lower the learning rate or clip gradients.",
        choice=True,
    )
