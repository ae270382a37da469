"""A value is right where it is made and wrong where it is used; made at its time, the run goes on.

## What happens
Between the line that makes a value and the line that uses it, something else has happened: an
iterator was read to its end, a file was closed with its `with` block, the model was changed after a
copy was taken, a mask was made once and kept for batches of other lengths, or what belongs into a
loop stands behind it.

## Why it matters
Neither line is wrong alone. The exception comes at the use, and says nothing of the order.

## What to do
Make the value where it is used, or after what changes it; keep open what is used; put a line into
the loop, or out of it, where it belongs.

## How it is recognised
No other rule explains the exception. The failing values are followed to the statements that they
came through. Where the order of the source shows that one of them runs too early, too late, once or
inside a block that ends, the statement is moved. The finding stands only where a run with that goes
on past the fault, with the rows and losses that it had.
"""

from collections.abc import Iterator

from surefit.doctor.causes import is_cause
from surefit.doctor.findings import Fact, Finding, Severity
from surefit.doctor.observations import Crash
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import fact_at
from surefit.doctor.words import code
from surefit.laws.case import Case, use_of
from surefit.laws.values.failing_values import parts, says_something
from surefit.laws.values.other_moments import other_moments
from surefit.laws.values.value_words import in_words
from surefit.remedies.change import Change

DECIDES = "what happens between the line that makes the value and the line that uses it"
RULE = Rule(
    "SF979",
    "made-at-another-time",
    Severity.ERROR,
    __doc__,
    general=True,
    supposes=True,
    symptoms=(
        Symptom("received an empty list of sequences|stack expects a non-empty", DECIDES),
        Symptom(
            "Attempt to use ZIP archive that was already closed|I/O operation on closed", DECIDES
        ),
        Symptom("Attempted to use an uninitialized parameter", DECIDES),
        Symptom("shape of the 2D attn_mask is", DECIDES),
        Symptom(r"to match target batch_size \(1\)", DECIDES),
    ),
)


@RULE.on(Crash)
def something_came_between(crash: Crash, recording: Recording) -> Iterator[Finding]:
    if crash.swallowed or not is_cause(crash, recording) or crash.own_frame is None:
        return
    case = Case(recording, crash, RULE)
    for moment in other_moments(case):
        yield case.finding(
            moment.at.place,
            moment.said,
            facts=tuple(facts(case)),
            why=moment.why,
            remedies=[Change(to=moment.edit, words=moment.words)],
        )


def facts(case: Case) -> Iterator[Fact]:
    assert case.own is not None
    for value in parts(case.own):
        if value.layer is None and says_something(value):
            yield Fact(code(value.text), in_words(value))
    yield from fact_at("used at", use_of(case.own))
