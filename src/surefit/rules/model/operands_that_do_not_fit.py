"""An operation was given operands that do not meet one of its demands.

## What happens
Every operation demands something of its operands: so many axes, integers for an index, one dtype,
one device, positions that exist, a layout in memory. What raises says it in the words of C++, about
tensors that it does not name.

## Why it matters
Which operand is meant, and what it should have been, is left to guessing.

## What to do
Change the operand that is named, where it got the property that is refused; add or move an axis,
cast it, or choose another setting of the operation.

## How it is recognised
The contract of the operation that failed is looked up in a table of what torch's operations demand,
and held against the operands of the call. No other rule knows more. Every method after which the
call meets all of its demands is tried.
"""

from collections.abc import Iterator

from surefit.doctor.findings import Fact, Finding, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import fact_at
from surefit.doctor.words import code, counted
from surefit.laws.case import Case
from surefit.laws.contracts.operations import DemandBroken
from surefit.laws.operations.demands import Party
from surefit.laws.values.earlier import unlike_before
from surefit.laws.values.value_origins import origin, shortened
from surefit.laws.values.value_words import in_words
from surefit.remedies.refitting import number_at, remedies_of

DECIDES = "which operand is meant, and what the operation demands of it"
RULE = Rule(
    "SF786",
    "operands-that-do-not-fit",
    Severity.ERROR,
    __doc__,
    general=True,
    symptoms=(
        Symptom("must have same number of dimensions|same number of dimensions as", DECIDES),
        Symptom("Dimension out of range|expected .*D.* input", DECIDES),
        Symptom("`lengths` array must be sorted in decreasing order", DECIDES),
    ),
)


LONGEST = 80


@RULE.on(DemandBroken)
def a_demand_is_not_met(broken: DemandBroken, case: Case) -> Finding | None:
    if broken.conflict.about == "size":
        return None
    written = number_at(broken, case)
    return case.finding(
        written.place if written is not None else broken.use.place,
        headline(broken),
        facts=(
            *facts(broken, case),
            *(fact_at("used at", broken.use) if written is not None else ()),
            *unlike_before(case),
        ),
        why=broken.why,
        remedies=remedies_of(broken, (), case),
    )


def headline(broken: DemandBroken) -> str:
    conflict = broken.conflict
    said = has(broken, conflict.side)
    if conflict.other is not None and conflict.other.argument != conflict.side.argument:
        said += f", and {has(broken, conflict.other)}"
    return f"{said}. In {code(shortened(broken.use.text, LONGEST))}, {conflict.takes}."


def has(broken: DemandBroken, side: Party) -> str:
    about, operand = broken.conflict.about, broken.operand(side)
    tensor = operand is not None and operand.value.shape is not None
    name = broken.name(side) if tensor else code(side.argument)
    if side.has:
        verb = "" if side.has.startswith(("requires", "does not")) else "is "
        return f"{name} {verb}{side.has}"
    if side.axis is not None:
        return f"{name} has {side.number:,} along axis {side.axis}"
    if about in ("axes", "setting") and tensor:
        return f"{name} has {counted(side.number, 'axis')}"
    if about == "axes" and operand is not None and operand.value.length:
        return f"{name} has {counted(side.number, 'number')}"
    return (
        f"{name} holds {side.number:,}" if tensor else f"{code(side.argument)} is {side.number:,}"
    )


def facts(broken: DemandBroken, case: Case) -> Iterator[Fact]:
    """Both sides, each with where it was born."""
    told: set[str] = set()
    for side in (broken.conflict.side, broken.conflict.other):
        operand = broken.operand(side)
        if operand is None or operand.name in told or operand.frame is None:
            continue
        told.add(operand.name)
        born = origin(operand.value, operand.frame, case)
        yield Fact(operand.name, f"{in_words(operand.value)}{born}")
