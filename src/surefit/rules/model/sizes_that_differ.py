"""An operation was given two sizes that it takes only if they are equal.

## What happens
Sums pair two tensors element by element, joins pair all axes but the joined one, products pair the
last axis of one side with the last but one of the other. `The size of tensor a (30) must match the
size of tensor b (7) at non-singleton dimension 1` names neither tensor, nor where the sizes come
from.

## Why it matters
The line that raises is rarely the line that is wrong: a mask that was built from other rows, a
length that was cut on one side only, a width that was written twice, an axis in another place.

## What to do
Look at where each of the two sizes was born, and decide which one is wrong there. A `[:, :n]` or a
`view` at the failing line hides it.

## How it is recognised
The contract of the operation that failed is looked up in a table, and held against its operands.
Two sizes break it, and no other rule knows more. Both are followed to the first expression that has
them; where the other tensors of the line share one of the two, the other one is alone. What names
another axis, or gives one side the size of the other, is tried.
"""

from collections.abc import Iterator, Sequence
from math import prod

from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Operand, Written, fact_at
from surefit.doctor.words import code, some
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.operations import DemandBroken
from surefit.laws.operations.conflict_story import SizeOrigin, alone, origins
from surefit.laws.values.earlier import unlike_before
from surefit.laws.values.value_words import in_words
from surefit.lineage.producers import Producer
from surefit.lineage.properties import size
from surefit.remedies.refitting import remedies_of

RULE = Rule(
    "SF398",
    "sizes-that-differ",
    Severity.ERROR,
    __doc__,
    general=True,
    symptoms=(
        Symptom(
            r"The size of tensor a .* must match the size of tensor b|Sizes of tensors must match"
            r"|mat1 and mat2 shapes cannot be multiplied|does not broadcast with previously seen",
            "which two tensors are paired, and where each of the two sizes was born",
        ),
    ),
)


@RULE.on(DemandBroken)
def two_sizes_disagree(broken: DemandBroken, case: Case) -> Finding | None:
    if broken.conflict.about != "size":
        return None
    known = origins(broken, case)
    odd, births = alone(known), births_of(known, case)
    remedies = list(remedies_of(broken, known, case))
    place = place_of(broken, known, births, remedies)
    return case.finding(
        place.place,
        headline(broken, known),
        facts=(
            *(operand.fact() for operand in operands(known)),
            *facts(known, births, odd),
            *fact_at("used at", broken.use),
            *unlike_before(case),
        ),
        why=broken.why or f"{broken.conflict.takes[0].upper()}{broken.conflict.takes[1:]}.",
        remedies=remedies,
    )


def place_of(
    broken: DemandBroken,
    known: Sequence[SizeOrigin],
    births: Sequence[Producer | None],
    remedies: Sequence[Remedy | Fix],
) -> Written:
    """What the first remedy changes; without one, the birth of the smaller side."""
    changed = [at for remedy in remedies if (at := getattr(remedy, "at", None)) is not None]
    candidates = (*changed, births[known.index(smaller(known))], *births)
    return next((written for written in candidates if written is not None), broken.use)


def headline(broken: DemandBroken, known: Sequence[SizeOrigin]) -> str:
    said = [measured(origin) for origin in known]
    use = code(broken.use.text)
    if len(said) == 1:
        return f"{said[0]}. In {use}, {broken.conflict.takes}."
    return f"{said[0]}, and {said[1]}: {use} pairs them."


def measured(origin: SizeOrigin) -> str:
    side = origin.side
    if side.axis is not None:
        return f"{origin.name} has {side.number:,} along axis {side.axis}"
    if origin.operand is not None and origin.operand.shape:
        return f"{origin.name} has {side.number:,} elements"
    return f"{origin.name} asks for {side.number:,}"


def operands(known: Sequence[SizeOrigin]) -> list[Operand]:
    """Each once: both sizes can be of one."""
    tensors = [origin.operand for origin in known if origin.operand and origin.operand.shape]
    return list({operand.name: operand for operand in tensors}.values())


def facts(
    known: Sequence[SizeOrigin],
    births: Sequence[Producer | None],
    odd: SizeOrigin | None,
) -> Iterator[Fact]:
    for origin in known:
        if origin.operand is not None and not origin.operand.shape:
            yield Fact(origin.name, in_words(origin.operand.value))
    for origin, birth in zip(known, births, strict=True):
        layer = origin.layer.constructor if origin.layer is not None else None
        yield from fact_at(f"{origin.side.number:,} since", layer or birth)
    other = next((origin for origin in known if origin is not odd), None)
    if odd is not None and other is not None:
        have = "has" if len(other.shared) == 1 else "have"
        only = f"only {odd.name} has it; {some(other.shared)} {have} {other.side.number:,} as well"
        yield Fact(f"{odd.side.number:,} is alone", only)


def smaller(known: Sequence[SizeOrigin]) -> SizeOrigin:
    return min(known, key=lambda origin: prod(origin.operand.shape) if origin.operand else 0)


def births_of(known: Sequence[SizeOrigin], case: Case) -> list[Producer | None]:
    births = [origin.birth for origin in known]
    spans = [birth.span for birth in births if birth is not None]
    if len(spans) == 2 and spans[0] == spans[1]:  # one function built both
        return [built_at(origin, case) for origin in known]
    return births


def built_at(origin: SizeOrigin, case: Case) -> Producer | None:
    """The last expression with this size before it is handed to the function that fails."""
    operand, side = origin.operand, origin.side
    if operand is None or side.axis is None:
        return None
    here = case.own.function if case.own is not None else ""
    sized = size(side.axis, side.number)
    outside = [known for known in case.lineage(operand).producers if known.function != here]
    return next((producer for producer in outside if sized.holds(producer.value)), None)
