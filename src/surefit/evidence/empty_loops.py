"""A loop over a loader that gave no batch, and what was meant to be left by it."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import Crash, Frame, Question
from surefit.doctor.recording import Recording
from surefit.source.reading import Source, called

EMPTY = "empty-loaders"
FILLS = ("append", "extend", "add", "update")


@dataclass(frozen=True, slots=True)
class EmptyLoader:
    """A loader without a single batch."""

    place: Place | None
    size: int
    rows: int | None
    drops: bool
    streams: bool


@dataclass(frozen=True, slots=True)
class EmptyLoop:
    """A loop that never ran, and the name that is needed behind it."""

    loader: EmptyLoader
    source: Source
    loop: ast.For
    name: str
    frame: Frame


def empty_loader(crash: Crash, seen: Recording) -> EmptyLoader | None:
    said = seen.ask(Question(EMPTY, crash.id))
    told = said.get("loaders") if said else None
    if not isinstance(told, list) or not told:
        return None
    raw = told[0]
    place = Place(raw["made"], raw["line"]) if raw.get("made") else None
    size = raw.get("size") or 1
    drops, streams = raw.get("drops") is True, raw.get("streams") is True
    return EmptyLoader(place, size, raw.get("rows"), drops, streams)


def empty_loop(crash: Crash, seen: Recording) -> EmptyLoop | None:
    """The failing line reads what only the loop over such a loader fills, or counts it."""
    for frame in reversed(crash.frames):
        source = seen.source(frame.place) if frame.own else None
        statement = source.statement_at(frame.place.line or 0) if source else None
        if source is None or statement is None:
            continue
        for loop in loops_before(source, statement):
            name = needed(loop, statement)
            loader = empty_loader(crash, seen) if name else None
            if loader is not None and name:
                return EmptyLoop(loader, source, loop, name, frame)
    return None


def loops_before(source: Source, statement: ast.stmt) -> Iterator[ast.For]:
    """In the same function, above a statement, the nearest first."""
    scope = source.scope_of(statement)
    found = [
        one
        for one in source.every(ast.For)
        if source.scope_of(one) is scope and (one.end_lineno or 0) < statement.lineno
    ]
    return iter(sorted(found, key=lambda one: -one.lineno))


def needed(loop: ast.For, statement: ast.stmt) -> str | None:
    """A name of the failing line that the loop gives a value, or `len` of what it goes through."""
    filled = set(names_filled(loop))
    head = heads(statement)
    for node in (one for part in head for one in ast.walk(part)):
        if isinstance(node, ast.Name) and node.id in filled:
            return node.id
        if isinstance(node, ast.Call) and called(node) == "len" and node.args:
            text = ast.unparse(node.args[0])
            if text in {
                ast.unparse(one) for one in ast.walk(loop.iter) if isinstance(one, ast.expr)
            }:
                return f"len({text})"
    return None


def heads(statement: ast.stmt) -> list[ast.AST]:
    """What of a statement runs first: all of a plain one, the test of a compound one."""
    if isinstance(statement, ast.If | ast.While):
        return [statement.test]
    if isinstance(statement, ast.With):
        return [one.context_expr for one in statement.items]
    return [] if hasattr(statement, "body") else [statement]


def names_filled(loop: ast.For) -> Iterator[str]:
    """Names that the loop binds, adds to, or puts something into."""
    for node in (one for part in (loop.target, *loop.body) for one in ast.walk(part)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)) if attr in FILLS:
                yield name
