"""The autopsy after an exception, in the process that raised it; no code of the user's is run."""

import ast
import itertools
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from types import FrameType, TracebackType
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.observations import Crash, Frame, Layer, Link, Value
from surefit.observe.inside import finishing, own_code, spool, workers
from surefit.observe.inside.autopsy import expressions, guards, handles, memory, questions
from surefit.observe.inside.autopsy.collators import collator_in
from surefit.observe.inside.autopsy.layers import largest_holder, layer_of
from surefit.observe.inside.autopsy.values import describe, is_module
from surefit.observe.inside.unseen import strip

MOST_VALUES = 60
MOST_FRAMES = 80
COMPILED = (
    "torch/_dynamo/convert_frame.py",
    "torch/_functorch/_aot_autograd/",
    "torch/_inductor/",
    "<eval_with_key>",
)

_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Stood:
    """A frame, and where in it the exception passed."""

    frame: FrameType
    instruction: int
    line: int


def said(error: BaseException) -> str:
    """As the last line of a traceback says it; a `__str__` of the user's own is not asked."""
    try:
        text = str(error) if _says_as_library(type(error)) else BaseException.__str__(error)
    except Exception:  # noqa: BLE001 - as Python does it
        text = "<exception str() failed>"
    notes = error.__dict__.get("__notes__")
    lines = [one for one in notes if type(one) is str] if type(notes) is list else []
    first = f"{_kind(error)}: {text}" if text else _kind(error)
    return "\n".join([first, *lines])


def _says_as_library(kind: type[BaseException]) -> bool:
    asked = next(vars(one)["__str__"] for one in kind.__mro__ if "__str__" in vars(one))
    code = getattr(asked, "__code__", None)
    return code is None or not own_code.own(code)


def look_and_answer(error: BaseException) -> None:
    """The whole autopsy, after Python's own words: looks, writes, answers questions, lets go."""
    try:
        seen = look(error)
        finishing.finish()
        if seen is not None:
            questions.answer_parent(seen, [one.frame for one in stack(error)])
    except Exception as failure:  # noqa: BLE001 - the user's error has been shown; this is one line below it
        spool.could_not("the crash", failure)


@spool.guarded("the crash")
def look(
    error: BaseException,
    *,
    swallowed: bool = False,
    passed_on: bool = False,
    identity: str | None = None,
) -> Crash:
    """Writes down a crash; of an exception that a worker has looked into, only where it arrived."""
    memory.make_room(error)
    strip(error)
    stood = stack(error)
    frames = (*_frames(stood), *_unparsed(error))
    plain = [one.frame for one in stood]
    seen = Crash(
        identity or f"{os.getpid()}-{next(_numbers)}",
        time.time(),
        spool.process(),
        _kind(error),
        said(error),
        frames,
        tuple(_chain(error)),
        _layer(plain),
        _part("the collator", collator_in, plain),
        _part("the memory", memory.memory_at, error, plain),
        _steps_taken(),
        swallowed,
        _through(plain, "torch/autograd/graph.py") or _through(plain, "torch/autograd/__init__.py"),
        _is_compiled(error, plain),
        workers.raised_in(error, plain),
        passed_on,
        (_part("shared handles", handles.shared_handles, plain) or ()) if passed_on else (),
    )
    spool.saw(seen)
    expressions.let_go()
    _tell_stories(seen, plain)
    return seen


def _tell_stories(seen: Crash, frames: list[FrameType]) -> None:
    """In a second run, which was asked how a value of this crash came to be."""
    stories = sys.modules.get("surefit.observe.inside.stories.stories")
    if stories is not None:
        stories.about_crash(seen, frames)


def _part(what: str, read: Any, *given: Any) -> Any:
    return spool.guarded(what)(read)(*given)


def _steps_taken() -> int:
    steps = sys.modules.get("surefit.observe.inside.training.steps")
    return int(steps.taken()) if steps else 0


def _kind(error: BaseException) -> str:
    kind = type(error)
    if kind.__module__ in ("builtins", "__main__"):
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}"


def chained(error: BaseException) -> list[BaseException]:
    """The exceptions that led to this one, the first one first, itself last."""
    found = [error]
    while True:
        last = found[-1]
        before = last.__cause__
        if before is None and not last.__suppress_context__:
            before = last.__context__
        if before is None or any(one is before for one in found):
            return found[::-1]
        found.append(before)


def _chain(error: BaseException) -> Iterator[Link]:
    for one in chained(error)[:-1]:
        own = [stood for stood in _walk(one.__traceback__) if own_code.own(stood.frame.f_code)]
        yield Link(said(one), _place(own[-1]) if own else None)


def _walk(traceback: TracebackType | None) -> Iterator[Stood]:
    while traceback is not None:
        yield Stood(traceback.tb_frame, traceback.tb_lasti, traceback.tb_lineno)
        traceback = traceback.tb_next


def stack(error: BaseException) -> list[Stood]:
    """All frames down to where the first exception of the chain was raised, outermost first."""
    whole = list(_walk(error.__traceback__))
    for earlier in reversed(chained(error)[:-1]):
        below = list(_walk(earlier.__traceback__))
        shared = [at for at, one in enumerate(whole) if below and one.frame is below[0].frame]
        if shared:
            whole = whole[: shared[0]] + below
    return whole[:10] + whole[-MOST_FRAMES:] if len(whole) > MOST_FRAMES + 10 else whole


def _place(stood: Stood) -> Place:
    return Place(os.path.abspath(stood.frame.f_code.co_filename), stood.line)


def _frames(stood: list[Stood]) -> Iterator[Frame]:
    for at, one in enumerate(stood):
        innermost = at == len(stood) - 1
        try:
            yield _frame(one, innermost, [other.frame for other in stood])
        except Exception as error:  # noqa: BLE001 - one frame that cannot be read
            spool.could_not(f"the frame {one.frame.f_code.co_name}", error)
            own = own_code.own(one.frame.f_code)
            yield Frame(_place(one), one.frame.f_code.co_qualname, own)


def _unparsed(error: BaseException) -> Iterator[Frame]:
    """The line that Python could not read stands in no frame."""
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        file = os.path.abspath(error.filename)
        line = (error.text or "").strip()
        yield Frame(Place(file, error.lineno), "<module>", own_code.is_own(file), line)


def _frame(stood: Stood, innermost: bool, frames: list[FrameType]) -> Frame:
    frame, code = stood.frame, stood.frame.f_code
    own = own_code.own(code)
    failed = expressions.failed_at(frame, stood.instruction, stood.line)
    tests = guards.checks_at(failed.statement, failed.function, frame) if innermost else []
    values: dict[str, Value] = {}
    for value in _values(frame, failed, own, innermost, [test.node for test in tests]):
        values.setdefault(value.text, value)
        if len(values) == MOST_VALUES:
            break
    count = code.co_argcount + code.co_kwonlyargcount
    this = frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None
    return Frame(
        replace(_place(stood), end_line=_end_line(failed, stood.line)),
        code.co_qualname,
        own,
        failed.text,
        failed.part,
        failed.span,
        tuple(values.values()),
        layer_of(this, largest_holder(this, _things(frames))) if is_module(this) else None,
        tuple(code.co_varnames[:count]),
        guards.as_data(tests),
    )


def _end_line(failed: expressions.Failed, line: int) -> int | None:
    statement = failed.statement
    if statement is None or hasattr(statement, "body") or statement.end_lineno == line:
        return None
    return statement.end_lineno


def _values(
    frame: FrameType,
    failed: expressions.Failed,
    own: bool,
    innermost: bool,
    checks: Sequence[ast.expr],
) -> Iterator[Value]:
    """The failing part first; then the statement, and what led to it; then arguments and, in own
    code, all locals."""
    for node in (failed.expression, failed.statement, *checks):
        if node is not None and not (node is failed.statement and hasattr(node, "body")):
            for text, value in expressions.parts(node, frame):
                yield describe(value, text)
    if own or innermost:
        for name, value in list(frame.f_locals.items()):
            if not name.startswith("__") and not expressions.is_code(value):
                yield describe(value, name)


def _things(frames: list[FrameType]) -> Iterator[object]:
    for frame in frames:
        yield from list(frame.f_locals.values())
    if frames:
        yield from list(frames[0].f_globals.values())


def _layer(frames: list[FrameType]) -> Layer | None:
    """The innermost module whose method was being run."""
    for frame in reversed(frames):
        code = frame.f_code
        this = frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None
        if is_module(this):
            return layer_of(this, largest_holder(this, _things(frames)))
    return None


def _through(frames: list[FrameType], part: str) -> bool:
    return any(part in frame.f_code.co_filename.replace("\\", "/") for frame in frames)


def _is_compiled(error: BaseException, frames: list[FrameType]) -> bool:
    """Generated code ran, or was being made; a function that the compiler gave up on has frames."""
    raised_by = type(error).__module__
    return raised_by.startswith("torch._dynamo") or any(_through(frames, part) for part in COMPILED)
