"""Where a batch of a loader arrives in the user's own loop, and what the loop calls it."""

import ast
from dataclasses import dataclass

from surefit.doctor.conditions.rows import RowsArrive
from surefit.doctor.findings import Place
from surefit.doctor.observations import Crash, Frame, Value
from surefit.doctor.recording import Recording
from surefit.source.reading import Source, names_within

LOADER = "torch/utils/data/dataloader.py"


@dataclass(frozen=True, slots=True)
class Arrival:
    """A statement at which the names of a batch can be read."""

    place: Place
    names: tuple[str, ...]
    after: bool
    """Once the statement has run."""


def asking_frame(crash: Crash) -> Frame | None:
    """The user's frame that asked a loader for its next batch."""
    before: Frame | None = None
    for frame in crash.frames:
        if frame.place.file.replace("\\", "/").endswith(LOADER):
            return before
        before = frame if frame.own else before
    return None


def arrival(crash: Crash, seen: Recording) -> Arrival | None:
    """None where the loop is a library's, or its names are not plain."""
    frame = asking_frame(crash)
    source = seen.source(frame.place) if frame else None
    line = frame.place.line if frame else None
    statement = source.statement_at(line) if source and line else None
    if source is None or statement is None:
        return None
    if isinstance(statement, ast.For):
        first = first_simple(statement.body)
        names = tuple(names_within(statement.target))
        return Arrival(Place(source.file, first.lineno), names, False) if first and names else None
    if isinstance(statement, ast.Assign):
        names = tuple(name for target in statement.targets for name in names_within(target))
        return Arrival(Place(source.file, statement.lineno), names, True) if names else None
    return None


def first_simple(block: list[ast.stmt]) -> ast.stmt | None:
    """The first statement of a block that always runs and holds no other."""
    first = block[0]
    if isinstance(first, ast.With | ast.Try):
        return first_simple(first.body)
    return None if hasattr(first, "body") else first


def loader_seen(crash: Crash) -> Value | None:
    """The loader that was asked, if the user's frames have it under a name."""
    asking = asking_frame(crash)
    frames = [asking] if asking else []
    frames += [frame for frame in reversed(crash.frames) if frame.own]
    found = [one for frame in frames for one in frame.values if one.kind == "DataLoader"]
    return next((one for one in found if one.made_at), None)


def loader_call(crash: Crash, seen: Recording) -> tuple[Source, ast.Call] | None:
    """The call that made the loader; where that was not seen, the only one there is."""
    loader = loader_seen(crash)
    place = loader.made_at if loader else None
    frame = asking_frame(crash) or crash.own_frame
    source = seen.source(place or (frame.place if frame else None))
    if source is None:
        return None
    calls = list(source.calls_named("DataLoader"))
    if place is not None:
        line = place.line or 0
        calls = [one for one in calls if one.lineno <= line <= (one.end_lineno or one.lineno)]
    return (source, calls[0]) if len(calls) == 1 else None


def batch_arrives(crash: Crash, seen: Recording) -> RowsArrive | None:
    """That a whole batch comes to the loop; None where its rows or the loop are not known."""
    created = loader_call(crash, seen)
    size = created[0].argument(created[1], "batch_size", 1) if created else None
    value = created[0].value_of(size) if created and size else None
    rows = value.value if isinstance(value, ast.Constant) else None
    came = arrival(crash, seen)
    if not isinstance(rows, int) or not rows or came is None:
        return None
    return RowsArrive(rows=rows, place=came.place, names=came.names, after=came.after)
