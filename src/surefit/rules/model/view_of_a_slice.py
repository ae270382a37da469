"""`.view` was called on a slice, a transposition or another tensor that leaves gaps in memory.

## What happens
`view` gives the same memory another shape. A slice of columns (`labels[:, 1:]`) leaves out an
element between one row and the next, and a transposition steps through memory in another order:
no new shape fits without a copy, and `view` never copies.

## Why it matters
It depends on the batch. A slice of one row has no gap, so that training with one row works, and
evaluation with two fails; inside a `try` it then fails in every batch without a word. Mixed
precision has nothing to do with it: strides are the same in every dtype.

## What to do
`.reshape` copies where it must and is a `view` where it can. Where the failing `.view` is not your
own code but a library's, give it a tensor without gaps: `.contiguous()` behind what made them.

## How it is recognised
The failing expression is a call of `.view`, and by sizes and strides of the tensor that it was
called on no view of the wanted shape exists. What made the tensor so is read from the source where
that is certain, and otherwise from a second run that records every operation.

In a script that is only read: columns are cut off by `[:, 1:]` or `[:, :-1]`, and `.view(-1)`
follows on the same value in the same function; or the steps of a tensor in memory are followed
through slices and transpositions, in whichever function, to a `.view` that does not exist.
"""

import ast
import re
from collections.abc import Iterator

from surefit.doctor.causes import caught_by, is_cause, was_only_read
from surefit.doctor.conditions.condition import Condition
from surefit.doctor.conditions.evaluation import EvaluationRuns
from surefit.doctor.conditions.re_executed import ReExecuted
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Frame, Json, Question, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, shape_of
from surefit.evidence.frame_names import name_in
from surefit.evidence.views import Cause, Viewed, cause_of, viewed_in
from surefit.interpreter import violations, wording
from surefit.interpreter.strides import can_view, inferred
from surefit.source.definitions import definition
from surefit.source.edits import appended
from surefit.source.patches import Edit, Replace
from surefit.source.reading import Source
from surefit.source.spans import Span

RULE = Rule(
    "SF302",
    "view-of-a-slice",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"view size is not compatible with input tensor's size and stride",
            "the steps in memory of the tensor that `.view` is called on, and what made it: a"
            " slice, a transposition, an expansion",
        ),
    ),
)

NO_COPY = "`view` never copies, and this shape cannot be had without a copy."
ONLY_READ = "the script was read, not run"


@RULE.on(Crash)
def view_needs_a_copy(crash: Crash, seen: Recording) -> Iterator[Finding]:
    viewed = viewed_in(crash) if is_cause(crash, seen) else None
    frame = crash.own_frame
    if viewed is None or frame is None:
        return
    cause = cause_of(viewed, crash, seen)
    own = crash.frames[viewed.frame].own
    must = condition(viewed, crash, seen)
    yield RULE.finding(
        frame.place if own or cause is None or cause.source is None else place_of(cause, frame),
        headline(viewed, cause, crash),
        facts=tuple(facts(viewed, cause, crash)),
        ruled_out=tuple(not_precision(viewed, crash)),
        why=NO_COPY,
        fixes=(own_fix(frame, must, seen) if own else given_fix(cause, must, crash, viewed),),
        python_said=crash.said,
        about=crash.id,
    )


def place_of(cause: Cause, frame: Frame) -> Place:
    return cause.place or frame.place


def condition(viewed: Viewed, crash: Crash, seen: Recording) -> Condition:
    """The frames of a crash answer; where it was swallowed they are gone, and its `try` answers."""
    caught = caught_by(crash, seen) if crash.swallowed else None
    if caught is not None:
        return EvaluationRuns(caught.handler, caught.entries)
    about: dict[str, Json] = {"frame": viewed.frame, "text": viewed.text}
    if viewed.target:
        about["shape"] = list(viewed.target)
    asked = Question("reshape", crash.id, about)
    seen.ask(asked)
    return ReExecuted(asked, f"`.reshape` and `.contiguous().view` of {code(viewed.text)}")


def headline(viewed: Viewed, cause: Cause | None, crash: Crash) -> str:
    own = crash.frames[viewed.frame].own
    needs = f"{code(viewed.call)} needs elements that lie one behind the other"
    if not own:
        needs = f"{flattener(crash)} calls {code(viewed.call)}, which needs elements that lie one"
        needs += " behind the other"
    text = viewed.text if own else users_name(viewed, crash)
    if cause is None or (cause.source is None and own):
        return f"{needs}, and those of {code(text)} do not."
    if cause.source is None or cause.text == text:
        return f"{needs}, and {code(text)} is a {cause.how}."
    return f"{needs}, and {code(text)} is a {cause.how}, {code(cause.text)}."


def flattener(crash: Crash) -> str:
    """The library's function that fails, by its module where it is one."""
    innermost = crash.frames[-1]
    return f"`{innermost.layer.kind}`" if innermost.layer else f"`{innermost.function}`"


def users_name(viewed: Viewed, crash: Crash) -> str:
    """What the innermost own frame that has the tensor calls it."""
    for frame in reversed(crash.frames):
        text = name_in(frame, viewed.value) if frame.own else None
        if text:
            return text
    return viewed.text


def facts(viewed: Viewed, cause: Cause | None, crash: Crash) -> Iterator[Fact]:
    value = viewed.value
    if value is not None and value.shape is not None and value.stride is not None:
        strides = f"steps of {shape_of(value.stride)} in memory"
        yield Fact(code(users_name(viewed, crash)), f"{shape_of(value.shape)}, {strides}")
    if cause is not None and cause.place is not None:
        of = f", of {shape_of(cause.shape)}" if cause.shape else ""
        yield Fact(f"made by a {cause.how}", f"{cause.place}  {cause.text}{of}")
    if not crash.frames[viewed.frame].own:
        frame = crash.frames[viewed.frame]
        yield Fact("viewed at", f"{frame.place}  {frame.expression}")
    if value is not None and value.shape and value.stride and one_row_would_do(viewed):
        yield Fact("with a batch of one row", "there is no gap, and the same line works")


def one_row_would_do(viewed: Viewed) -> bool:
    value = viewed.value
    if value is None or value.shape is None or value.stride is None or value.shape[0] < 2:
        return False
    shape = (1, *value.shape[1:])
    target = inferred(shape, viewed.target) if viewed.target else None
    return target is not None and can_view(shape, value.stride, target)


def not_precision(viewed: Viewed, crash: Crash) -> Iterator[Fact]:
    value = viewed.value
    if value is not None and value.dtype:
        name = code(users_name(viewed, crash))
        yield Fact("mixed precision", f"{name} is {value.dtype}; these steps fail in every dtype")


def own_fix(frame: Frame, must: Condition, seen: Recording) -> Fix:
    source = seen.source(frame.place)
    node = source.expression_at(frame.span) if source and frame.span else None
    edit = reshaped(source, node) if source and isinstance(node, ast.Call) else None
    why_not = "" if edit else "the call was not found in your source"
    return Fix("Use `.reshape`, which copies where it must.", edit, must, why_not)


def reshaped(source: Source, call: ast.Call) -> Edit:
    """`view` becomes `reshape`, and nothing else is touched."""
    span = source.span(call.func)
    at = Span(span.end_line, span.end_column - len("view"), span.end_line, span.end_column)
    return Edit(source.file, (Replace(at, "reshape"),))


def given_fix(cause: Cause | None, must: Condition, crash: Crash, viewed: Viewed) -> Fix:
    if cause is not None and cause.source is not None and cause.node is not None:
        return Fix(
            f"Copy it where it is made: {code(cause.text + '.contiguous()')}.",
            appended(cause.source, cause.node, ".contiguous()"),
            must,
        )
    text = users_name(viewed, crash)
    return Fix(
        f"Give {flattener(crash)} a copy in one piece: {code(text + '.contiguous()')}.",
        why_not_tried="which operation made it so could not be told from your source",
    )


@RULE.on(Script)
def gaps_in_the_source_are_viewed(script: Script, seen: Recording) -> Iterator[Finding]:
    for source, one in wording.violations_in(script, seen, violations.NonContiguousView):
        if any(call is one.node for call, _ in joined_rows(source)):
            continue
        cause = wording.text_of(source, one.cause)
        yield RULE.finding(
            wording.place_of(source, one.node),
            f"{wording.text_of(source, one.node)} fails as soon as there are two rows: by"
            f" {cause} the"
            " elements do not lie one behind the other.",
            facts=(Fact("made so at", wording.line_at(source, one.cause)),),
            why=NO_COPY,
            fixes=(
                Fix(
                    "Use `.reshape`, which copies where it must.",
                    reshaped(source, one.node),
                    why_not_tried=ONLY_READ,
                ),
            ),
            severity=Severity.WARNING,
        )


@RULE.on(Script)
def columns_are_cut_and_viewed(script: Script, seen: Recording) -> Iterator[Finding]:
    source = seen.source(script.file) if was_only_read(seen) else None
    for call, cut in joined_rows(source) if source else ():
        if source is None:
            return
        text = code(source.segment(cut))
        yield RULE.finding(
            Place(script.file, call.lineno, call.end_lineno),
            f"{code(source.segment(call))} fails as soon as a batch has two rows: {text} leaves"
            " gaps between them.",
            facts=(Fact("cut at", f"{script.file}:{cut.lineno}  {source.segment(cut)}"),),
            why=NO_COPY,
            fixes=(
                Fix(
                    "Use `.reshape`, which copies where it must.",
                    reshaped(source, call),
                    why_not_tried=ONLY_READ,
                ),
            ),
            severity=Severity.WARNING,
        )


CUT = re.compile(r"\(?:, (0*[1-9]\d*:(-\d+)?|:-\d+)(, :)*\)?")
"""`[:, 1:]`, `[:, :-1]`, `[:, 1:, :]`: all rows, and surely not all columns."""


def joined_rows(source: Source) -> Iterator[tuple[ast.Call, ast.Subscript]]:
    """`labels[:, 1:].view(-1)`, the slice as it is or under a name, where the new shape has fewer
    axes than the slice is known to have."""
    for call in source.every(ast.Call):
        match call:
            case ast.Call(func=ast.Attribute(value=cut, attr="view"), args=[first, *more]):
                cut = definition(source, cut) or cut if isinstance(cut, ast.Name) else cut
                if not isinstance(cut, ast.Subscript) or ast.unparse(first) != "-1":
                    continue
                text = ast.unparse(cut.slice)
                if CUT.fullmatch(text) and len(more) < text.count(","):
                    yield call, cut
