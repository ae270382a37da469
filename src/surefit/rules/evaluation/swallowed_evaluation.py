"""An exception that the script caught left a number in its place that nobody measured.

## What happens
A `try` stands around evaluation, or around a training step. What is raised inside is dropped, the
loop goes on, and a sum that was never added to, or a number such as 10000.0, is reported as if it
had been measured.

## Why it matters
The number looks like a result. It is compared, plotted, and used to choose a checkpoint, while the
error that made it is a line in a log, or not even that.

## What to do
Let the error through, and mend what raised it. Where some batches are known to be bad, catch that
one kind of exception, and say in the result how many were left out.

## How it is recognised
A handler of the script's own caught exceptions below which a model, a loss, a loader, `backward` or
an optimizer was running, in more than half of the times that its `try` was entered. Not reported:
exceptions that are control flow or that the script itself defines; handlers that raise again, end
the process, or get the result in another way; loops that try again until it works; a single
failure, unless a number stands for it, or everything is caught and no step is taken afterwards. In
a script that is only read: in a loop, a `try` that calls a model which the same function puts
into evaluation mode, with a handler for every exception that at most logs.
"""

import ast
import re
from collections.abc import Iterator

from surefit.doctor.causes import was_only_read
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.handlers import (
    calls,
    computes_instead,
    handler_at,
    is_blind,
    is_retried,
    only_notes,
    passes_on,
    try_of,
    within_function,
)
from surefit.doctor.observations import Crash, Frame, Script, Steps, Swallowed, Value
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.words import code
from surefit.laws.evaluation.stand_ins import StandIn, carried_on, number_of
from surefit.laws.layers.layer_words import described
from surefit.laws.layers.layer_words import layer_name as name
from surefit.laws.values.value_words import in_words
from surefit.source import snippets
from surefit.source.patches import Edit, Replace
from surefit.source.reading import Loop, Source, dotted
from surefit.source.spans import Span

RULE = Rule("SF501", "swallowed-evaluation", Severity.ERROR, __doc__)

CONTROL_FLOW = (
    *("StopIteration", "StopAsyncIteration", "GeneratorExit"),
    *("KeyboardInterrupt", "SystemExit"),
)
MOST_VALUES = 4
ONLY_SHOWS = "this shows the error; the number is measured again when what raised it is mended"


@RULE.on(Swallowed)
def a_number_was_never_measured(swallowed: Swallowed, seen: Recording) -> Iterator[Finding]:
    every = [one for one in seen.all(Swallowed) if is_of_one_handler(one, swallowed)]
    times = sum(one.times for one in every)
    most = max((one for one in every if one.ran), key=lambda one: one.times, default=None)
    if swallowed is not most or 2 * times <= swallowed.entries:
        return
    if is_control_flow(swallowed, seen) or came_through(swallowed, seen):
        return
    source = seen.source(swallowed.handler)
    handler = handler_at(source, swallowed.handler) if source else None
    if source and handler and is_meant(source, handler, swallowed, times, seen):
        return
    number = stand_in(source, handler, swallowed, times)
    if swallowed.entries == 1 and number is None and not ended_work(swallowed, handler, seen):
        return
    yield RULE.finding(
        place(swallowed, number),
        headline(source, handler, swallowed, times, number),
        facts=tuple(facts(swallowed, number, seen)),
        why="The `except` went on as if nothing had been raised, and nothing else says so.",
        fixes=tuple(fixes(source, handler)),
        python_said=swallowed.said,
    )


def is_of_one_handler(one: Swallowed, other: Swallowed) -> bool:
    """In one process; a handler can catch several kinds of exception."""
    return one.process.pid == other.process.pid and one.handler == other.handler


def is_control_flow(swallowed: Swallowed, seen: Recording) -> bool:
    """By its kind, or because the script defines it: who raises that, means to catch it."""
    kind = swallowed.said.partition(":")[0].strip().rpartition(".")[2]
    known = (node for source in seen.sources() for node in source.definitions.get(kind, ()))
    return kind in CONTROL_FLOW or any(isinstance(node, ast.ClassDef) for node in known)


def came_through(swallowed: Swallowed, seen: Recording) -> bool:
    """It was raised again, and ended the process."""
    return any(
        not crash.swallowed
        and crash.said == swallowed.said
        and crash.process.pid == swallowed.process.pid
        for crash in seen.all(Crash)
    )


def is_meant(
    source: Source, handler: ast.ExceptHandler, swallowed: Swallowed, times: int, seen: Recording
) -> bool:
    if passes_on(handler) or computes_instead(source, handler):
        return True
    if is_retried(source, handler) and times < swallowed.entries:
        return True
    return only_told(source, handler, swallowed, seen)


def only_told(
    source: Source, handler: ast.ExceptHandler, swallowed: Swallowed, seen: Recording
) -> bool:
    """The model had run; what failed was the last thing to do, telling another library of it."""
    crash = seen.crash(swallowed.crash)
    last = try_of(source, handler).body[-1]
    line = swallowed.raised_at.line if swallowed.raised_at else None
    if crash is None or not crash.frames or not isinstance(last, ast.Expr):
        return False
    if line is None or not last.lineno <= line <= (last.end_lineno or last.lineno):
        return False
    innermost = crash.frames[-1]
    files = [frame.place.file for frame in crash.frames]
    library = not innermost.own and not files[-1].startswith("torch/")
    return library and not any(file.startswith("torch/nn/") for file in files)


def stand_in(
    source: Source | None, handler: ast.ExceptHandler | None, swallowed: Swallowed, times: int
) -> StandIn | None:
    """The number in place of the measured one: set by the handler, or what comes of sums that
    were never added to."""
    for one in swallowed.instead:
        value = number_of(snippets.expression(one.text))
        if value is not None and is_inside(one.place, swallowed.handler):
            if one.name != "return":
                return StandIn(one.name, value, one.place)
            scope = source.scope_of(handler) if source and handler else None
            return StandIn("", value, one.place, getattr(scope, "name", ""))
    if source is None or handler is None or times < swallowed.entries:
        return None
    return carried_on(source, try_of(source, handler))


def is_inside(place: Place, handler: Place) -> bool:
    return (handler.line or 0) <= (place.line or 0) <= (handler.end_line or 0)


def ended_work(swallowed: Swallowed, handler: ast.ExceptHandler | None, seen: Recording) -> bool:
    """Everything was caught, no step was taken after it, and no flag was set. Otherwise a single
    failure was a test of what this machine can do."""
    if handler is not None and not is_blind(handler):
        return False
    if any(one.text in ("True", "False", "None") for one in swallowed.instead):
        return False
    crash = seen.crash(swallowed.crash)
    after = [one.steps for one in seen.all(Steps) if one.process.pid == swallowed.process.pid]
    return crash is not None and max(after, default=0) == crash.steps


def place(swallowed: Swallowed, number: StandIn | None) -> Place:
    """The line that put the number there, if that is in the handler; else the handler."""
    if number is not None and is_inside(number.place, swallowed.handler):
        return number.place
    return Place(swallowed.handler.file, swallowed.handler.line)


def headline(
    source: Source | None,
    handler: ast.ExceptHandler | None,
    swallowed: Swallowed,
    times: int,
    number: StandIn | None,
) -> str:
    work = what_failed(source, handler, swallowed)
    failed = f"{work} failed {times:,} of {swallowed.entries:,} times"
    if number is None:
        return f"{failed[0].upper()}{failed[1:]}, and this `except` hid the error."
    what = f"{number.value}, which `{number.given_back_by}` gave back,"
    if number.name:
        what = f"`{number.name}` = {number.value}"
    here = is_inside(number.place, swallowed.handler)
    did = "line put the number there" if here else "`except` hid the error"
    return f"{what} was never measured: {failed}, and this {did}."


def what_failed(
    source: Source | None, handler: ast.ExceptHandler | None, swallowed: Swallowed
) -> str:
    if swallowed.training is False or not swallowed.grad:
        return "evaluation"
    body = try_of(source, handler).body if source and handler else []
    names = {one.func.attr for one in calls(body) if isinstance(one.func, ast.Attribute)}
    if {"backward", "optimizer"} & {*swallowed.ran} or "backward" in names:
        return "training"
    return "reading a batch" if swallowed.ran == ("loader",) else "what is tried here"


def facts(swallowed: Swallowed, number: StandIn | None, seen: Recording) -> Iterator[Fact]:
    yield Fact("the real error", swallowed.said.strip().partition("\n")[0])
    at = swallowed.raised_at
    if at is not None:
        source = seen.source(at)
        line = f"  {source.lines[at.line - 1].strip()}" if source and at.line else ""
        yield Fact("raised at", f"{at}{line}")
    if number is not None and not is_inside(number.place, swallowed.handler):
        name = number.name or number.given_back_by
        yield Fact("in its place", f"{name} = {number.value}, {number.place}")
    crash = seen.crash(swallowed.crash)
    if crash is not None:
        yield from values(crash)


def values(crash: Crash) -> Iterator[Fact]:
    """What the failing expression was given, and the module that it was given to."""
    frame = crash.own_frame
    if crash.layer is not None and crash.layer.path:
        yield Fact("module", f"{name(crash.layer)}, {described(crash.layer)}")
    named = [value for value in frame.values if is_named(value, frame)] if frame else []
    for value in named[:MOST_VALUES]:
        yield Fact(code(value.text), in_words(value))


def is_named(value: Value, frame: Frame) -> bool:
    """The failing expression has it as a word of its own."""
    text = frame.expression or ""
    return re.search(rf"(?<![\w.]){re.escape(value.text)}(?!\w)", text) is not None


def fixes(source: Source | None, handler: ast.ExceptHandler | None) -> Iterator[Fix]:
    edit = None
    if source is not None and handler is not None:
        first, last = source.span(handler.body[0]), source.span(handler.body[-1])
        whole = Span(first.line, first.column, last.end_line, last.end_column)
        edit = Edit(source.file, (Replace(whole, "raise"),))
    yield Fix("Let the error through, and mend what raised it.", edit, why_not_tried=ONLY_SHOWS)


@RULE.on(Script)
def errors_of_evaluation_would_be_hidden(script: Script, seen: Recording) -> Iterator[Finding]:
    source = seen.source(script.file) if was_only_read(seen) else None
    for handler in source.every(ast.ExceptHandler) if source else ():
        model = evaluated(source, handler) if source else None
        if model and is_blind(handler) and only_notes(handler):
            yield RULE.finding(
                Place(script.file, handler.lineno),
                f"Whatever `{model}` raises in evaluation is hidden by this `except`.",
                why="A batch that fails is left out of the result, and so are all of them if all"
                " fail; the number that is reported looks the same.",
                fixes=tuple(fixes(source, handler)),
                severity=Severity.WARNING,
            )


def evaluated(source: Source, handler: ast.ExceptHandler) -> str | None:
    """The model that the `try` of a loop calls, and that its function has put into evaluation."""
    tried = try_of(source, handler)
    if not any(isinstance(outer, Loop) for outer in within_function(source, tried)):
        return None
    scope = source.scope_of(tried)
    run = {dotted(node.func) for node in ast.walk(scope) if isinstance(node, ast.Call)}
    called = {dotted(call.func) for call in calls(tried.body)} - {""}
    return next((name for name in sorted(called) if f"{name}.eval" in run), None)
