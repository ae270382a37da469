"""A packed sequence came back as long as the longest row of its batch, and targets are longer.

## What happens
`pad_packed_sequence` pads to the longest row that was packed, not to the length that the rows had
before. Where targets or masks have a fixed length, sizes agree only as long as some row of the
batch fills that length.

## Why it matters
It works for most batches and fails at the first one without a row of full length, which may be in
the second epoch. Cutting the targets to fit hides it, and loses targets where the lengths differ
for another reason.

## What to do
Say how long it is to be: `pad_packed_sequence(..., total_length=words.size(1))`. The places behind
the end of a row are zeros, as they were before; the loss ignores them by their targets.

## How it is recognised
Two tensors that fail together have different numbers of steps. A second run records every
operation: one of the two came out of an unpacking with as many steps as its longest row, and the
other has as many steps as went into the packing.
"""

from collections.abc import Iterator

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.condition import Condition
from surefit.doctor.conditions.loss_rows import RowsAtTheLoss
from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Value
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, shape_of
from surefit.evidence.frame_names import name_in, named
from surefit.evidence.origins import names_in
from surefit.evidence.trimmed_sequences import Trimmed, trimmed_in, whole_length
from surefit.source.edits import argument_added

RULE = Rule(
    "SF233",
    "sequence-trimmed-to-the-batch",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"Expected target size \[\d+, \d+\], got \[\d+, \d+\]|must be the same as input size",
            "whether `pad_packed_sequence` gave back fewer steps than the targets have",
        ),
    ),
)


@RULE.on(Crash)
def unpacking_gave_back_fewer_steps(crash: Crash, seen: Recording) -> Iterator[Finding]:
    trimmed = trimmed_in(crash, seen) if is_cause(crash, seen) else None
    if trimmed is None:
        return
    longer = users_name(crash, trimmed.pair.long, trimmed.rows, trimmed.whole)
    shorter = users_name(crash, trimmed.pair.short, trimmed.rows, trimmed.longest)
    yield RULE.finding(
        Place(trimmed.source.file, trimmed.call.lineno, trimmed.call.end_lineno),
        f"`pad_packed_sequence` gives back {trimmed.longest} steps, as many as the longest row of"
        f" this batch has, and {code(longer)} has {trimmed.whole}.",
        facts=(
            Fact(f"{code(shorter)} as it is used", shape_of(trimmed.pair.short.shape or ())),
            Fact(f"{code(longer)} as it is used", shape_of(trimmed.pair.long.shape or ())),
            Fact("unpacked", f"{trimmed.unpacked.place}  {shape_of(trimmed.unpacked.shape)}"),
            Fact("packed before", f"{trimmed.rows} rows of {trimmed.whole} steps"),
        ),
        why=f"Without `total_length` it pads to the longest row that was packed; a batch with a row"
        f" of {trimmed.whole} steps goes through.",
        fixes=(fix(crash, trimmed),),
        python_said=crash.said,
        about=crash.id,
    )


def users_name(crash: Crash, value: Value, rows: int, steps: int) -> str:
    """What the user's line calls it or, if it calls only what that was made from, that."""
    frame = crash.own_frame
    name = name_in(frame, value) if frame else None
    made_from = [
        text
        for text, one in (named(frame) if frame else ())
        if one.shape and rows in one.shape[:2] and steps in one.shape[:2]
    ]
    return name or next(iter(made_from), value.text)


def fix(crash: Crash, trimmed: Trimmed) -> Fix:
    length = whole_length(trimmed.source, trimmed.call)
    if length is None:
        return Fix(
            f"Say how long it is to be: `total_length=`, here {trimmed.whole}.",
            why_not_tried="no name was found that has this length where it is unpacked",
        )
    return Fix(
        f"Say how long it is to be: `total_length={length}`, here {trimmed.whole}.",
        argument_added(trimmed.source, trimmed.call, "total_length", length),
        condition(crash, trimmed),
    )


def condition(crash: Crash, trimmed: Trimmed) -> Condition:
    """At the failing line what was short has all steps, and what was longer is as it was."""
    frame = crash.own_frame
    texts = names_in(frame.expression or frame.line) if frame else set()
    values = [one for one in frame.values if one.text in texts and one.shape] if frame else []
    short = [one for one in values if trimmed.longest in (one.shape or ())]
    if frame is None or not short:
        return RowsAtTheLoss(trimmed.rows)
    wanted = [Wanted(one.text, lengthened(one, trimmed)) for one in short]
    longer = [one for one in values if one.identity == trimmed.pair.long.identity]
    return ValuesAt(frame.place, (*wanted, *(Wanted(one.text, one.shape) for one in longer[:1])))


def lengthened(value: Value, trimmed: Trimmed) -> tuple[int, ...]:
    """The axis of steps; where another is as long, the last one that can be it."""
    shape = list(value.shape or ())
    at = [number for number, size in enumerate(shape) if size == trimmed.longest]
    shape[at[-1] if len(at) > 1 and at[0] == 0 else at[0]] = trimmed.whole
    return tuple(shape)
