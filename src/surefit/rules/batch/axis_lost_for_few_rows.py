"""A batch of one row, or a row without items, has an axis less than all others.

## What happens
`x.squeeze()` removes every axis of size 1: of a last batch of one row the batch axis, too.
`torch.tensor([])` has one axis, whatever the rows of a longer list have: an image without boxes
gives (0,), and all others (n, 4).

## Why it matters
It runs for all batches but one. The exception comes where the value is used and speaks of sizes or
dimensions, not of the batch that is different.

## What to do
Name the axis: `squeeze(1)`, `squeeze(-1)`. Give what can be empty its shape: `.reshape(-1, 4)`.

## How it is recognised
No other rule explains the exception. A value of the failing line has fewer axes than at every
earlier evaluation of the line, or was squeezed without an axis while it had one row. The axis is
kept where it was lost, and a run with that goes on past the fault, with the rows and losses that it
had.
"""

from collections.abc import Iterator

from surefit.doctor.causes import is_cause
from surefit.doctor.findings import Fact, Finding, Place, Severity
from surefit.doctor.observations import Crash
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import fact_at
from surefit.doctor.words import code, counted, shape_of
from surefit.laws.case import Case, use_of
from surefit.laws.layers.lost_axes import LostAxis, lost_axes
from surefit.laws.values.value_origins import shortened
from surefit.laws.values.value_words import in_words
from surefit.remedies.replace import ReplaceWith

DECIDES = "how many axes the value had at all earlier evaluations of the line"
RULE = Rule(
    "SF981",
    "axis-lost-for-few-rows",
    Severity.ERROR,
    __doc__,
    general=True,
    supposes=True,
    symptoms=(
        Symptom("too many indices for tensor of dimension 1", DECIDES),
        Symptom(r"must be the same as input size \(torch.Size\(\[\]\)\)", DECIDES),
        Symptom("iteration over a 0-d tensor", DECIDES),
        Symptom("'float' object is not iterable", DECIDES),
    ),
)

LONGEST = 80


@RULE.on(Crash)
def an_axis_is_missing(crash: Crash, recording: Recording) -> Iterator[Finding]:
    if crash.swallowed or not is_cause(crash, recording) or crash.own_frame is None:
        return
    case = Case(recording, crash, RULE)
    for lost in lost_axes(case):
        words = "Name the axis to remove" if lost.is_squeezed else "Give it its shape"
        if lost.is_squeezed and 1 not in (lost.before or ())[1:]:
            words = "No other axis is of size 1: do not squeeze"
        yield case.finding(
            lost.birth.place,
            headline(lost),
            facts=tuple(facts(lost, case)),
            why=why(lost),
            remedies=[
                ReplaceWith(
                    at=lost.birth, text=text, words=f"{words}: {code(shortened(text, LONGEST))}."
                )
                for text in lost.texts
            ],
        )


def headline(lost: LostAxis) -> str:
    value = lost.value
    place = Place(lost.birth.place.file, lost.birth.place.line)
    made = f"{code(shortened(lost.birth.text, LONGEST))} at {place}"
    now = shape_of(value.shape) if value.shape is not None else in_words(value)
    if lost.is_squeezed:
        return (
            f"{made} squeezes a batch of one row, and removes the batch axis, too:"
            f" {code(value.text)} is {now}."
        )
    rows = "no items" if 0 in (value.shape or ()) else "one item"
    return (
        f"{code(value.text)} is {now}, with {rows}, and lacks an axis:"
        f" {made} gave {usual(lost)} {before(lost)}."
    )


def before(lost: LostAxis) -> str:
    if lost.among:
        others = counted(lost.times, "other item")
        return f"for the {others} of {code(lost.among)}"
    return "at all earlier evaluations"


def usual(lost: LostAxis) -> str:
    sizes = ", ".join("n" if size is None else str(size) for size in lost.usual or ())
    return f"({sizes},)" if len(lost.usual or ()) == 1 else f"({sizes})"


def facts(lost: LostAxis, case: Case) -> Iterator[Fact]:
    value = lost.value
    yield Fact(code(value.text), in_words(value))
    if lost.usual is not None and not lost.among:
        times = counted(lost.times, "earlier evaluation")
        yield Fact(f"{code(value.text)} before", f"{usual(lost)} at all of {times}")
    if lost.before is not None:
        yield Fact("squeezed", shape_of(lost.before))
    if case.own is not None:
        yield from fact_at("fails at", use_of(case.own))


def why(lost: LostAxis) -> str:
    if lost.is_squeezed:
        return (
            "`squeeze()` without an axis removes all axes of size 1, and the batch has one row"
            " here."
        )
    if 0 in (lost.value.shape or ()):
        return "What is empty has no rows that could tell their width."
    return "What has one row is made without the axis that counts the rows."
