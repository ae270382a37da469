"""Every step is taken with a learning rate of zero, or of so little that no weight changes.

## What happens
A rate of 0 comes from a setting that was never filled in, from an integer division
(`1 // warmup`), or from a schedule that multiplies by 0. A rate of 1e-12 gives updates that are
smaller than the distance between neighbouring numbers of float32.

## Why it matters
Gradients are there, the optimizer steps, and the model stays what it was.

## What to do
Print `optimizer.param_groups[0]["lr"]` in the loop, and set a rate that is usual for the optimizer:
1e-3 for Adam, 1e-4 and less for fine-tuning, 1e-2 for SGD.

## How it is recognised
The highest rate of any step is 0, or below 1e-6 while of the elements with a gradient that were
compared before and after steps not one has changed. A warm-up that begins at 0, and a rate that
ends at 0, are not reported.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.violations import Expression
from surefit.doctor.words import code
from surefit.laws.case import Case, Remedy
from surefit.laws.invariants.weights_learn import OfOptimizer, RateOfZero, UpdatesTooSmall
from surefit.laws.runs import law_holds
from surefit.remedies.arguments import SetArgument
from surefit.source.reading import Source, called
from surefit.source.selection import the_only

RULE = Rule("SF613", "learning-rate-of-zero", Severity.ERROR, __doc__)

USUAL = {"SGD": "1e-2"}
SCHEDULES = (
    *("LambdaLR", "MultiplicativeLR", "StepLR", "MultiStepLR", "ExponentialLR", "LinearLR"),
    *("ConstantLR", "CosineAnnealingLR", "OneCycleLR", "PolynomialLR", "SequentialLR"),
)


@RULE.on(RateOfZero)
def rate_is_zero(broken: RateOfZero, case: Case) -> Finding:
    return explained(broken, case)


@RULE.on(UpdatesTooSmall)
def rate_is_next_to_zero(broken: UpdatesTooSmall, case: Case) -> Finding:
    return explained(broken, case)


def explained(broken: OfOptimizer, case: Case) -> Finding:
    optimizer = broken.optimizer
    scheduled = optimizer.first_rate > optimizer.highest_rate
    schedule = next(schedules(case), None) if scheduled else None
    place = broken.use.place
    if schedule is not None:
        place = schedule.place
    by = f" The schedule turns {optimizer.first_rate:g} into it." if scheduled else ""
    return case.finding(
        place,
        f"{broken.said}{by}",
        facts=(
            *broken.facts,
            Fact("highest rate of any step", f"{optimizer.highest_rate:g}"),
            Fact("rate that was set", f"{optimizer.first_rate:g}"),
            *((Fact("the schedule", f"{code(schedule.text)}"),) if schedule is not None else ()),
        ),
        why="A step is the learning rate times a direction: times zero it is zero.",
        remedies=tuple(remedies(broken, case, scheduled)),
    )


def schedules(case: Case) -> Iterator[Expression]:
    for source, call in case.recording.every(ast.Call):
        if called(call) in SCHEDULES or "schedule" in called(call):
            yield case.expression(source, call)


def remedies(broken: OfOptimizer, case: Case, scheduled: bool) -> Iterator[Remedy | Fix]:
    source, place = case.source(broken.use.place), broken.use.place
    call = optimizer_call(source, place, broken.optimizer.kind) if source else None
    usual = USUAL.get(broken.optimizer.kind, "1e-3")
    if call is not None and source is not None and not scheduled:
        at = case.expression(source, call)
        words = f"Set a rate that is usual for {broken.optimizer.kind}, `lr={usual}`."
        if source.argument(call, "lr") is not None or len(call.args) < 2:
            yield SetArgument(
                at=at, name="lr", value=usual, words=words, must=law_holds(broken), choice=True
            )
            return
    yield Fix("Set a rate above zero, and a schedule that keeps it so.", choice=True)


def optimizer_call(source: Source, place: Place, kind: str) -> ast.Call | None:
    return the_only(call for call in source.calls_in(place.line or 0) if called(call) == kind)
