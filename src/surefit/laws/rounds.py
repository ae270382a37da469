"""Where in the user's source a step repeats, and which round computed a part of a graph."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from surefit.doctor.recording import Recording
from surefit.laws.graph_stories import GraphStory, Joint, Stood, When
from surefit.source.reading import Function, Source

Loop = ast.For | ast.While | ast.AsyncFor


@dataclass(frozen=True, slots=True)
class Round:
    """The loop of the user's that the failing line stands in, or that calls what does."""

    source: Source
    loop: Loop
    at: Stood
    """The line in that loop on the way to the failing one."""
    depth: int
    """Of its frame on the stack, outermost 0."""


def round_of(recording: Recording, stack: Sequence[Stood]) -> Round | None:
    for depth in range(len(stack) - 1, -1, -1):
        source = recording.source(stack[depth].file)
        statement = source.statement_at(stack[depth].line) if source else None
        if source is None or statement is None:
            continue
        loop = next(loops_around(source, statement), None)
        if loop is not None:
            return Round(source, loop, stack[depth], depth)
    return None


def loops_around(source: Source, node: ast.AST) -> Iterator[Loop]:
    """Innermost first, within one function."""
    for outer in source.up(node):
        if isinstance(outer, Function | ast.ClassDef):
            return
        if isinstance(outer, Loop):
            yield outer


def when_computed(recording: Recording, story: GraphStory, joint: Joint) -> When:
    if joint.when is not None:
        return joint.when
    here = round_of(recording, story.here)
    if here is not None:
        outside = not is_inside(here.loop, line_in(here, joint.made))
    else:  # a library repeats the step, if anything does: by the same line of the user's
        outside = joint.repeated and joint.made[:1] != story.here[:1]
    if outside:
        return When.BEFORE_THE_LOOP
    return When.IN_AN_EARLIER_ROUND if joint.repeated else When.IN_THIS_ROUND


def line_in(here: Round, stack: Sequence[Stood]) -> int | None:
    """Where a stack stands in the function of the loop."""
    if len(stack) <= here.depth:
        return None
    line = stack[here.depth]
    return line.line if (line.file, line.function) == (here.at.file, here.at.function) else None


def is_inside(loop: Loop, line: int | None) -> bool:
    return line is not None and loop.lineno <= line <= (loop.end_lineno or line)
