"""An exception that no other rule explains: what failed, on which values, in which module.

## What happens
The run ended with an exception whose mechanism surefit does not know. Shown are the expression that
failed, the values of its parts, the module that was being called, and for each value the expression
of the script in which it was born.

## Why it matters
A traceback shows lines, mostly a library's, not the shapes, types and sizes that made them fail.

## What to do
Compare the values with what the expression needs. A change proposed here would be a guess.

## How it is recognised
Every exception that ends a process, unless another rule explains it, it only passes on what
another process raised, or it is a deliberate end (`sys.exit`, Ctrl-C). A second run tells where the
values came from: the first expression with the same shape or length, the number or setting as it is
written.
"""

import re
from collections.abc import Iterator

from surefit.doctor.causes import is_cause, ranks_that_followed
from surefit.doctor.findings import Fact, Finding, Place, Severity
from surefit.doctor.observations import CollatorSeen, Crash, Ended, Frame, Script, Value
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, listed, spoken
from surefit.laws.case import Case
from surefit.laws.layers.layer_words import described, layer_name
from surefit.laws.values.earlier import unlike_before
from surefit.laws.values.failing_values import MOST_VALUES, parts, raised_at, says_something
from surefit.laws.values.value_origins import origin, shortened
from surefit.laws.values.value_words import in_words

RULE = Rule(
    "SF899",
    "unrecognised-crash",
    Severity.ERROR,
    __doc__,
    general=True,
    symptoms=(Symptom("", "the values, shapes and types in the line that failed"),),
)

LONGEST = 120
SHORT = 60


@RULE.on(Crash)
def run_ended_with_an_exception(crash: Crash, seen: Recording) -> Iterator[Finding]:
    handled = crash.process.role == "child" and [one.code for one in seen.all(Ended)] == [0]
    if crash.swallowed or not is_cause(crash, seen) or handled:
        return
    yield RULE.finding(
        place_of(crash, seen),
        headline(crash),
        facts=tuple(facts(crash, seen)),
        python_said=crash.said,
        about=crash.id,
    )


def place_of(crash: Crash, seen: Recording) -> Place:
    frame = crash.own_frame
    if frame is not None:
        return frame.place
    written = re.search(r'File "([^"]+)", line (\d+)', crash.said)
    if written and "SyntaxError" in crash.said:
        files = [one.file for one in seen.all(Script) if written[1].endswith(one.file)]
        return Place((files or [written[1]])[0], int(written[2]))
    dataset = crash.collator.dataset if crash.collator else None
    if dataset and dataset.made_at:
        return dataset.made_at
    scripts = [Place(script.file) for script in seen.all(Script) if script.main]
    places = [*scripts, *(frame.place for frame in crash.frames[-1:]), Place("the script")]
    return places[0]


def headline(crash: Crash) -> str:
    frame = crash.own_frame
    kind = crash.kind.rpartition(".")[2]
    if frame is None:
        return f"The run ended with {kind}, and none of the lines on the way to it are yours."
    if frame is crash.frames[-1] and frame.line.startswith("raise"):
        return f"Your own `raise` in `{frame.function}` ended the run with {kind}."
    return f"{code(failing(frame))} raised {kind}{inside(crash, frame)}."


def failing(frame: Frame, most: int = LONGEST) -> str:
    return shortened(" ".join((frame.expression or frame.line).split()), most)


def inside(crash: Crash, frame: Frame) -> str:
    """The module that was being called, and the library's function if it is one that failed."""
    layer = crash.layer
    said = f" in {layer_name(layer)}" if layer and (layer.path or layer.own) else ""
    innermost = crash.frames[-1]
    return said if innermost is frame else f"{said}, inside `{innermost.function}`"


def facts(crash: Crash, seen: Recording) -> Iterator[Fact]:
    frame, innermost = crash.own_frame, crash.frames[-1] if crash.frames else None
    told = list(values(crash, frame, seen)) if frame else []
    yield from told
    if innermost is not None and innermost is not frame:
        yield Fact("failed at", raised_at(innermost, SHORT))
        yield from library_values(innermost, frame)
    layer = crash.layer
    if layer and layer.path and not any(f"created at {layer.made_at}" in one.value for one in told):
        created = f", created at {layer.made_at}" if layer.made_at else ""
        yield Fact(layer_name(layer), f"{described(layer)}{created}")
    yield from unlike_before(Case(seen, crash))
    if crash.collator:
        yield from rows(crash.collator)
    if crash.chain:
        yield Fact("first raised", crash.chain[0].said)
    yield from where(crash, seen)


def values(crash: Crash, frame: Frame, seen: Recording) -> Iterator[Fact]:
    """The parts of the failing expression, each with the expression that it was born in."""
    for value in parts(frame):
        if says_something(value) and not is_told_by_its_parts(value, frame):
            yield Fact(
                code(value.text),
                in_words(value) + origin(value, crash.frames.index(frame), Case(seen, crash)),
            )


def is_told_by_its_parts(value: Value, frame: Frame) -> bool:
    """`self`, and what is only a way to something else that is told as well."""
    longer = (f"{value.text}.", f"{value.text}[")
    inside = [one for one in frame.values if one.text.startswith(longer) and says_something(one)]
    return value.shape is None and value.scalar is None and bool(inside)


def library_values(innermost: Frame, frame: Frame | None) -> Iterator[Fact]:
    """Tensors in the failing part of the library's line or among its arguments, unless the user's
    line has them; where there are none, the numbers."""
    known = {value.identity for value in frame.values} if frame else set()
    given = [one for one in innermost.values if one.text in innermost.arguments[1:]]
    tensors = [one for one in (*parts(innermost), *given) if one.shape is not None]
    numbers = [
        value
        for value in parts(innermost)
        if value.shape is None and (value.scalar is not None or value.kind == "NoneType")
    ]
    shown = {one.text: one for one in tensors or numbers if one.identity not in known}
    for value in list(shown.values())[:MOST_VALUES]:
        yield Fact(f"{code(value.text)} there", in_words(value))


def rows(collator: CollatorSeen) -> Iterator[Fact]:
    """What a collator was given: kinds, and lengths where they differ."""
    for column, kinds in list(collator.kinds.items())[:MOST_VALUES]:
        lengths = collator.lengths.get(column, ())
        uneven = f", lengths {listed(lengths)}" if len(set(lengths)) > 1 else ""
        what = "rows" if column == "row" else f"`{column}`"
        yield Fact(f"{what} given to `{collator.kind}`", f"{spoken(kinds)}{uneven}")


def where(crash: Crash, seen: Recording) -> Iterator[Fact]:
    """In which process, where there are several."""
    if crash.process.role == "worker":
        yield Fact("in", f"worker {crash.process.worker} of a loader")
    followed = ranks_that_followed(crash, seen)
    if followed:
        yield Fact("ranks that failed after it", listed(followed))
