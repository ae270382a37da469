"""A method is called before the one that sets what it needs.

## What happens
An object has to be prepared: things are registered, added, fitted or set up by one method, and
another works with them. The script has both calls, in the wrong order: `load_state` before
`register_for_checkpointing`.

## Why it matters
The message speaks of what is missing in the object, in names of the library, and not of the call
that stands a few lines further down.

## What to do
Call the method that prepares the object first.

## How it is recognised
The library's check found an attribute of its object empty, None or False. Of the methods of its
class that set this attribute, the script calls one on the same object, after the line that failed.
"""

from surefit.doctor.findings import Fact, Finding, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import fact_at
from surefit.doctor.words import code
from surefit.laws.case import Case
from surefit.laws.contracts.failed_checks import RefusedByCheck
from surefit.laws.later_calls import later_call
from surefit.laws.value_words import in_words
from surefit.remedies.change import Change
from surefit.source.line_edits import moved_after

RULE = Rule(
    "SF857",
    "call-comes-too-late",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"number of registered objects|not (yet )?(been )?(initiali[sz]ed|registered|prepared)",
            "whether the script calls what prepares the object only later",
        ),
    ),
)


@RULE.on(RefusedByCheck)
def what_it_needs_is_set_later(broken: RefusedByCheck, case: Case) -> Finding | None:
    later = later_call(broken.operands, case) if case.crash and not case.crash.swallowed else None
    if later is None or case.own is None:
        return None
    early = broken.use.text.partition("(")[0]
    late = later.call.text.partition("(")[0]
    return case.finding(
        later.call.place,
        f"{code(late)} is called after {code(early)}, which needs what it sets: call it before.",
        facts=(
            *fact_at("called first", broken.use),
            *fact_at("called later", later.call),
            *(Fact(operand.name, in_words(operand.value)) for operand in broken.operands),
            Fact("checked in", f"`{broken.function}`: {code(broken.check.text)}"),
        ),
        why=f"`{later.method}` fills `{later.attribute}`, and at line {broken.use.place.line} that"
        " is still empty.",
        remedies=(
            Change(
                to=moved_after(later.source, later.early, later.late),
                words=f"Move line {later.late.lineno} before line {later.early.lineno}.",
            ),
        ),
    )
