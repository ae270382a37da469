"""A width cannot be divided among the heads or groups that it was given.

## What happens
Attention cuts each vector into as many equal pieces as there are heads, and a grouped convolution
or norm cuts its channels into groups. 100 features among 8 heads would be 12.5 each.

## Why it matters
Where nothing checks it, the rest is dropped by `//` and the error comes later, as a reshape whose
numbers nobody wrote.

## What to do
Choose a number of heads that divides the width, or a width that is a multiple of it. Heads of 32,
64 or 128 features are usual.

## How it is recognised
A constructor, or a check of your own, raised `ValueError` or `AssertionError`, and among the
numbers that it reads a count of heads or groups does not divide the width beside it. In a script
that is only read, the numbers are followed to where they are written.
"""

from collections.abc import Iterator

from surefit.doctor.findings import Fact, Finding, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import fact_at
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.divisions import IndivisibleWidth
from surefit.remedies.replace import ReplaceWith

SYMPTOM = Symptom(
    r"divisible by|not a multiple of the number of attention heads",
    "which width and which number of heads or groups the model was created with",
)
RULE = Rule("SF306", "width-not-divisible", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))


@RULE.on(IndivisibleWidth)
def width_does_not_divide(broken: IndivisibleWidth, case: Case) -> Finding:
    width, parts = broken.width, broken.parts
    return case.finding(
        (broken.parts_written or broken.width_written or broken.use).place,
        f"`{broken.width_name}` is {width}, which {parts} do not divide (`{broken.parts_name}`):"
        f" {width} / {parts} = {width / parts:g}.",
        facts=(
            *(fact_at(f"`{broken.width_name}`", broken.width_written) or numbered(broken)[:1]),
            *(fact_at(f"`{broken.parts_name}`", broken.parts_written) or numbered(broken)[1:]),
            Fact("checked at", broken.checked),
        ),
        why="Each head or group gets an equal share of the width.",
        remedies=remedies(broken),
    )


def numbered(broken: IndivisibleWidth) -> tuple[Fact, Fact]:
    return (
        Fact(f"`{broken.width_name}`", str(broken.width)),
        Fact(f"`{broken.parts_name}`", str(broken.parts)),
    )


def remedies(broken: IndivisibleWidth) -> Iterator[Remedy]:
    width, parts = broken.width, broken.parts
    divisors = [number for number in range(1, width + 1) if width % number == 0]
    near = [*[number for number in divisors if number < parts][-1:]]
    near += [number for number in divisors if number > parts][:1]
    for number in near:
        words = f"Choose `{broken.parts_name}` among the divisors of {width}: {number}."
        yield ReplaceWith(at=broken.parts_written, text=str(number), words=words, choice=True)
    above = (width // parts + 1) * parts
    words = f"Make `{broken.width_name}` a multiple of {parts}: {above}."
    yield ReplaceWith(at=broken.width_written, text=str(above), words=words, choice=True)
