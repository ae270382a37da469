"""A traceback explained as text: what Python said and where, what fits it, and who would know."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from surefit.doctor.suspects import Suspect
from surefit.doctor.tracebacks import Traceback, TracebackFrame
from surefit.doctor.words import counted

from .marks import read_lines
from .terminal import LABEL, WIDTH, as_source, labelled, python_said
from .visible import shorten, visible, wrap

MOST_SOURCE = WIDTH - 8


def explanation(told: Traceback, found: Sequence[Suspect], command: str, folder: Path) -> str:
    """In 80 columns; `folder` is where relative names of files are looked for."""
    return "\n".join(
        [
            *what_python_said(told),
            *in_own_code(told, folder),
            "",
            *what_fits(found),
            "",
            *who_knows(found, command),
        ]
    )


def what_python_said(told: Traceback) -> Iterator[str]:
    first, *later = told.chain
    said = first.said or "nothing: the text ends before the exception"
    yield from map(str, python_said(said, WIDTH))
    for one in later:
        if one.said and one.said != first.said:
            yield from map(str, labelled("then", one.said.partition("\n")[0], WIDTH))
    if told.others:
        others = f"{counted(told.others, 'traceback')}, of which the first is explained here"
        yield from map(str, labelled("and", others.replace("1 traceback", "1 more"), WIDTH))


def in_own_code(told: Traceback, folder: Path) -> Iterator[str]:
    frame = told.own_frame
    if frame is None:
        where = "the text has no line of your own code" if told.frames else "no line is named"
        yield from map(str, labelled("where", where, WIDTH))
        return
    yield from map(str, labelled("where", str(frame), WIDTH))
    yield from source_of(frame, folder)
    innermost = next((one.frames[-1] for one in told.chain if one.frames), frame)
    if innermost != frame:
        yield from map(str, labelled("raised in", str(innermost), WIDTH))


def source_of(frame: TracebackFrame, folder: Path) -> Iterator[str]:
    """The line as it is in the file; as the traceback has it, where the file is another by now."""
    now = (read_lines(str(folder / frame.file), frame.line, frame.line) if frame.line else [])[:1]
    written = frame.source or "".join(now).strip()
    if written:
        number = "" if frame.line is None else str(frame.line)
        yield f"{number:>5} │ {shorten(as_source(written, is_code=True), MOST_SOURCE)}"
    if now and frame.source and now[0].strip() != frame.source:
        has = f"this line of the file is now: {visible(now[0].strip()) or 'empty'}"
        yield from map(str, labelled("but", has, WIDTH))


def what_fits(found: Sequence[Suspect]) -> Iterator[str]:
    if all(one.rule.general for one in found):
        known = "".join(f" To decide: {one.decides}." for one in found)
        yield from wrap(f"No rule fits this exception.{known}", WIDTH)
        return
    said = "A traceback has no values, so it cannot decide. Rules that fit, and what decides:"
    yield from wrap(said, WIDTH)
    for one in found:
        yield f"  {one.rule.name}  {one.rule.code}"
        for line in wrap(one.decides, WIDTH - LABEL):
            yield " " * LABEL + line


def who_knows(found: Sequence[Suspect], command: str) -> Iterator[str]:
    yield f"  {command}"
    yield from wrap(
        "runs the script, measures the values and decides. Add the script's arguments.", WIDTH
    )
    named = next((one.rule.name for one in found if not one.rule.general), None)
    if named:
        yield from wrap(f"`surefit explain {named}` prints the page of a rule.", WIDTH)
