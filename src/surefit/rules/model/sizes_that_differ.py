"""Two tensors that one operation pairs have different sizes along an axis.

## What happens
Sums, products and comparisons pair two tensors element by element, joins pair all axes but one.
Sizes must be equal, or 1. `The size of tensor a (30) must match the size of tensor b (7) at
non-singleton dimension 1` names neither tensor, nor where their sizes come from.

## Why it matters
The line that raises is rarely the line that is wrong: a mask that was built from other rows, a
length that was cut on one side only, a width that was written twice.

## What to do
Look at where each of the two sizes was born, and decide which one is wrong there. A `[:, :n]` or a
`view` at the failing line hides it.

## How it is recognised
An operation in your own code failed on tensors whose sizes differ where they must not, and no other
rule knows more. Both sizes are followed to the first expression that has them.
"""

from math import prod

from surefit.doctor.findings import Finding, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Operand, fact_at
from surefit.doctor.words import code
from surefit.laws.case import Case
from surefit.laws.contracts.sizes import SizesDiffer
from surefit.lineage.producers import Producer
from surefit.lineage.properties import size

RULE = Rule(
    "SF398",
    "sizes-that-differ",
    Severity.ERROR,
    __doc__,
    general=True,
    symptoms=(
        Symptom(
            r"The size of tensor a .* must match the size of tensor b|Sizes of tensors must match",
            "which two tensors are paired, and where each of the two sizes was born",
        ),
    ),
)


@RULE.on(SizesDiffer)
def two_sides_have_different_sizes(broken: SizesDiffer, case: Case) -> Finding | None:
    axis = broken.axes[0]
    sizes = list(dict.fromkeys(operand.shape[axis] for operand in broken.operands))
    if case.read or len(sizes) < 2:
        return None
    sides = [
        next(operand for operand in broken.operands if operand.shape[axis] == number)
        for number in sizes[:2]
    ]
    births = [birth_of(operand, axis, case) for operand in sides]
    smaller = min(range(2), key=lambda side: prod(sides[side].shape))
    if births[0] and births[1] and births[0].span == births[1].span:
        births = [built_at(operand, axis, case) for operand in sides]  # one function built both
    place = births[smaller] or births[1 - smaller] or broken.use
    number = axis + broken.rank
    return case.finding(
        place.place,
        f"{sides[0].name} has {sizes[0]:,} along axis {number}, and {sides[1].name} has"
        f" {sizes[1]:,}: {code(broken.use.text)} pairs them.",
        facts=(
            *(operand.fact() for operand in sides),
            *fact_at(f"{sizes[0]:,} since", births[0]),
            *fact_at(f"{sizes[1]:,} since", births[1]),
            *fact_at("used at", broken.use),
        ),
        why="Both sides must be of the same rows and positions; one of them was built from others.",
    )


def birth_of(operand: Operand, axis: int, case: Case) -> Producer | None:
    """The first expression with this size, on the same axis, or as a list of so many."""
    count = operand.shape[axis]
    lineage = case.lineage(operand)
    position = axis + len(operand.shape)
    return lineage.birth(of=size(position, count)) or lineage.birth(of=size(axis, count))


def built_at(operand: Operand, axis: int, case: Case) -> Producer | None:
    """The last expression with this size before it is handed to the function that fails."""
    here = case.own.function if case.own is not None else ""
    sized = size(axis + len(operand.shape), operand.shape[axis])
    producers = case.lineage(operand).producers
    outside = [producer for producer in producers if producer.function != here]
    return next((producer for producer in outside if sized.holds(producer.value)), None)
