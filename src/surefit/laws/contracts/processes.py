"""What a process that starts as a new Python takes: a script that it can import without running
its training, and parts of a loader that can be pickled."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from surefit.doctor.causes import is_refused
from surefit.doctor.observations import Frame, Script
from surefit.doctor.violations import Violation
from surefit.laws.case import Case, use_of
from surefit.laws.rows.arrivals import LOADER, asking_frame
from surefit.source.reading import Source

NEW_PYTHON = {"SpawnProcess": "spawn", "ForkServerProcess": "forkserver"}
PICKLING = "multiprocessing/reduction.py"


@dataclass(frozen=True, slots=True)
class WorkersStarted:
    """Workers of the loader that was asked: class of process, and exit code."""

    probe: ClassVar[str] = "workers-begun"

    kinds: tuple[str, ...] = ()
    codes: tuple[int | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Unpicklable:
    """A part of a loader, or what its dataset holds, that cannot be pickled."""

    part: str
    attribute: str
    kind: str
    name: str
    file: str
    line: int
    needs: tuple[str, ...]
    """Names of the function that it stands in."""

    @property
    def is_lambda(self) -> bool:
        return self.name.endswith("<lambda>")


@dataclass(frozen=True, slots=True)
class UnpicklableParts:
    """Of the loader that was asked; the first is the one that failed."""

    probe: ClassVar[str] = "unpicklable"

    parts: tuple[Unpicklable, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptRunAgain(Violation):
    """A process that imported the script came to a statement which starts processes."""

    source: Source
    top: ast.stmt
    """The statement of the module that stands under no test of `__name__`."""
    started_by: tuple[str, ...] = ()
    """Of workers of a loader: `spawn`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartNotPicklable(Violation):
    """A worker was to be sent what cannot be pickled."""

    parts: tuple[Unpicklable, ...]


def violations_of(case: Case) -> Iterator[Violation]:
    crash = case.crash
    files = [frame.place.file.replace("\\", "/") for frame in case.frames]
    first = next((frame for frame in case.frames if frame.own), None)
    by_loader = any(file.endswith(LOADER) for file in files)
    if crash is None or first is None or not (by_loader or is_refused(crash)):
        return
    asking = asking_frame(crash)
    if asking is not None and any(file.endswith(PICKLING) for file in files):
        unpicklable = case.ask(UnpicklableParts)
        if unpicklable is not None and unpicklable.parts:
            yield PartNotPicklable(use=use_of(asking), parts=unpicklable.parts)
    source = main_script(case, first)
    top = statement_of_module(source, first) if source is not None else None
    if source is None or top is None:
        return
    if is_refused(crash):
        yield ScriptRunAgain(use=use_of(first), source=source, top=top)
    elif crash.process.role == "main":
        workers = case.ask(WorkersStarted)
        how = tuple(NEW_PYTHON.get(kind, "") for kind in workers.kinds) if workers else ()
        if workers is not None and how and all(how) and 1 in workers.codes:
            yield ScriptRunAgain(use=use_of(first), source=source, top=top, started_by=how)


def main_script(case: Case, frame: Frame) -> Source | None:
    """Of a line that runs when the script itself is run, or imported."""
    scripts = [script for script in case.recording.all(Script) if script.main]
    main = any(script.file == frame.place.file for script in scripts)
    return case.source(frame.place) if main and frame.function == "<module>" else None


def statement_of_module(source: Source, frame: Frame) -> ast.stmt | None:
    """None where it is a test of `__name__`."""
    statement = source.statement_at(frame.place.line or 0)
    if statement is None:
        return None
    outer = [node for node in source.up(statement) if isinstance(node, ast.stmt)]
    top = [statement, *outer][-1]
    return None if isinstance(top, ast.If) and is_guard(top) else top


def is_guard(node: ast.If) -> bool:
    return any(isinstance(part, ast.Name) and part.id == "__name__" for part in ast.walk(node.test))
