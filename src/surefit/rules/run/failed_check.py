"""A check that a library makes, or the user's own code, has failed; no other rule explains it.

## What happens
Most errors stand behind a condition: a library compares what it was given with what it can work on,
and raises. The condition is read from its source, and its operands from the frame that raised.

## Why it matters
The message of an exception often names neither of the two values that were compared, nor where they
come from.

## What to do
Look at the two sides of the check. Each is shown with its value, and with the expression of the
script in which it was born.

## How it is recognised
The innermost frame of the crash stands at a `raise` or an `assert`. The conditions around it are
evaluated as far as they can be read without running anything: names, attributes, lengths, types and
comparisons. A second run tells where the values came from.
"""

from collections.abc import Iterator

from surefit.doctor.findings import Fact, Finding, Place, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Expression, Operand
from surefit.doctor.words import code, spoken
from surefit.laws.case import Case
from surefit.laws.contracts.failed_checks import RefusedByCheck
from surefit.laws.earlier import unlike_before
from surefit.laws.named_arguments import passed_as
from surefit.laws.value_origins import origin, shortened
from surefit.laws.value_words import in_words

RULE = Rule(
    "SF898",
    "failed-check",
    Severity.ERROR,
    __doc__,
    general=True,
    symptoms=(Symptom("", "the condition behind the `raise`, and the values that it compares"),),
)

LONGEST = 100
MOST_OPERANDS = 3


@RULE.on(RefusedByCheck)
def a_check_failed(broken: RefusedByCheck, case: Case) -> Finding | None:
    crash = case.crash
    if crash is None or crash.swallowed:
        return None
    kind = crash.kind.rpartition(".")[2]
    said = f"{shortened(broken.check.text, LONGEST)}"
    holds = "" if broken.check.result else " does not hold"
    sides = spoken(
        f"{operand.name} is {in_words(operand.value)}"
        for operand in broken.operands[:MOST_OPERANDS]
    )
    passed = [setting_of(operand, case) for operand in broken.operands]
    settings = [setting for setting in passed if setting is not None]
    if innermost_is_own(case):
        headline = (
            f"Your own check {code(said)}{holds} in `{broken.function}` raises {kind}: {sides}."
        )
    else:
        headline = (
            f"{code(shortened(broken.use.text, LONGEST))} ends with {kind}, because"
            f" {code(said)}{holds} in `{broken.function}`: {sides}."
        )
    return case.finding(
        settings[0].place if settings and not innermost_is_own(case) else broken.use.place,
        headline,
        facts=tuple(facts(broken, case)),
    )


def innermost_is_own(case: Case) -> bool:
    return case.frames[-1].own


def setting_of(operand: Operand, case: Case) -> Expression | None:
    """The argument by which the user's script sets a number, a name or a flag that was checked."""
    if operand.value.scalar is None and operand.value.kind != "NoneType":
        return None
    return passed_as(operand.value.text, operand.value, case)


def passed_at(setting: Expression | None) -> str:
    if setting is None:
        return ""
    return f", passed at {Place(setting.place.file, setting.place.line)}  {setting.text}"


def facts(broken: RefusedByCheck, case: Case) -> Iterator[Fact]:
    innermost = case.frames[-1]
    yield Fact("checked at", f"{innermost.place}  {shortened(innermost.line, LONGEST)}")
    for operand in broken.operands:
        assert operand.frame is not None
        setting = setting_of(operand, case)
        where = origin(operand.value, operand.frame, case) or passed_at(setting)
        yield Fact(operand.name, in_words(operand.value) + where)
    yield from unlike_before(case)
    for check in broken.others:
        yield Fact("and", code(check.text) + ("" if check.result else " does not hold"))
