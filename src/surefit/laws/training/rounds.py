"""Where in the user's source a step repeats, and which round computed a part of a graph."""

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from surefit.doctor.graph_stories import GraphStory, Joint, Stood, When
from surefit.doctor.recording import Recording
from surefit.source.reading import Loop, Source


class Standing(NamedTuple):
    """A line of a stack in its source."""

    source: Source
    statement: ast.stmt
    line: Stood
    depth: int
    """Of its frame on the stack, outermost 0."""

    @property
    def is_simple(self) -> bool:
        """No `for`, `with` or `def`, whose body is more than this line."""
        return not hasattr(self.statement, "body")


def standing(recording: Recording, stack: Sequence[Stood]) -> Iterator[Standing]:
    """The statements of a stack that are in the user's files, innermost first."""
    for depth in reversed(range(len(stack))):
        source = recording.source(stack[depth].file)
        statement = source.statement_at(stack[depth].line) if source else None
        if source is not None and statement is not None:
            yield Standing(source, statement, stack[depth], depth)


def innermost(recording: Recording, stack: Sequence[Stood]) -> Standing | None:
    """The last line of a stack."""
    return next(standing(recording, stack[-1:]), None)


def loop_of(recording: Recording, stack: Sequence[Stood]) -> tuple[Standing, Loop] | None:
    """The loop that the failing line stands in, or that calls what does."""
    for here in standing(recording, stack):
        for loop in here.source.loops_around(here.statement):
            return here, loop
    return None


def outermost_loop(source: Source, node: ast.AST) -> ast.stmt | None:
    """Of those around a node in its function."""
    return next(iter([*source.loops_around(node)][::-1]), None)


def when_computed(recording: Recording, story: GraphStory, joint: Joint) -> When:
    if joint.when is not None:
        return joint.when
    around = loop_of(recording, story.here)
    if around is not None:
        line = line_in(around[0], joint.made)
        outside = line is None or not around[1].lineno <= line <= (around[1].end_lineno or line)
    else:  # a library repeats the step, if anything does: by the same line of the user's
        outside = joint.repeated and joint.made[:1] != story.here[:1]
    if outside:
        return When.BEFORE_THE_LOOP
    return When.IN_AN_EARLIER_ROUND if joint.repeated else When.IN_THIS_ROUND


def line_in(here: Standing, stack: Sequence[Stood]) -> int | None:
    """Where a stack stands in the function of the loop."""
    line = stack[here.depth] if len(stack) > here.depth else None
    same = line is not None and (line.file, line.function) == (here.line.file, here.line.function)
    return line.line if line is not None and same else None
