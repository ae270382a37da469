"""What is allocated fits into the memory that is left."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from surefit.doctor.observations import Held, Memory
from surefit.doctor.violations import Expression, Violation
from surefit.doctor.words import counted
from surefit.laws.case import Case, use_of
from surefit.source.reading import called

KEPT = "kept in a list of yours, each with its graph"
FOR_BACKWARD = "results kept for backward"
"""As the autopsy names them."""
READS = {
    "numpy": ("load", "loadtxt", "genfromtxt", "fromfile"),
    "torch": ("load",),
    "pandas": ("read_csv", "read_parquet", "read_json", "read_pickle", "read_feather"),
    "safetensors": ("load_file",),
}
"""Libraries, and their functions that read a whole file."""


@dataclass(frozen=True, slots=True)
class FileRead:
    """The file that a library was reading."""

    probe: ClassVar[str] = "file-read"

    file: str
    bytes: int
    shape: tuple[int, ...] = ()
    dtype: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRanOut(Violation):
    """An allocation failed."""

    memory: Memory
    kept: Held | None = None
    """A list of the user's whose tensors keep their graphs."""
    filled: Expression | None = None
    """What is put into that list."""
    with_graph: bool = False
    """The model is in evaluation mode, and its results keep their graphs."""

    @property
    def would_fit(self) -> str:
        """Rows, by what the batch has taken up to here; the rest of the step takes more."""
        batch, asked, free = self.memory.batch, self.memory.asked, self.memory.free
        if not batch or not asked:
            return ""
        if free is None or asked <= free:
            return "not known: what was left of the limit was not measured"
        taken = sum(held.bytes for held in self.memory.held if held.what == FOR_BACKWARD)
        rows = (free + taken) * batch // (taken + asked)
        return f"at most {rows:,} of these {counted(batch, 'row')} come past this line"


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeFileRead(Violation):
    """A file is larger than the memory that is left for it."""

    memory: Memory
    read: FileRead
    library: str
    function: str
    call: Expression | None
    """The user's call that reads it."""


def violations_of(case: Case) -> Iterator[Violation]:
    crash, frame = case.crash, case.own
    if crash is None or crash.memory is None or frame is None or crash.swallowed:
        return
    memory = crash.memory
    kept = next((held for held in memory.held if held.what == KEPT), None)
    reading = reader(case) if kept is None else None
    read = case.ask(FileRead, function=reading[1]) if reading else None
    if reading and read is not None:
        yield WholeFileRead(
            use=use_of(frame),
            memory=memory,
            read=read,
            library=reading[0],
            function=reading[1],
            call=call_on_the_line(case, reading[1]),
        )
        return
    graphs = any(value.requires_grad for inner in crash.frames for value in inner.values)
    yield MemoryRanOut(
        use=use_of(frame),
        memory=memory,
        kept=kept,
        filled=filled_with(kept.holder, case) if kept is not None else None,
        with_graph=graphs and crash.layer is not None and not crash.layer.training,
    )


def reader(case: Case) -> tuple[str, str] | None:
    """The outermost function below the user's own line, if it reads files."""
    for frame in case.frames[case.number + 1 :]:
        library = frame.place.file.replace("\\", "/").partition("/")[0]
        if frame.function in READS.get(library, ()):
            return library, frame.function
    return None


def call_on_the_line(case: Case, function: str) -> Expression | None:
    source = case.source(case.own)
    calls = source.calls_in(case.own.place.line or 0) if source and case.own else ()
    named = [call for call in calls if called(call) == function]
    return case.expression(source, named[0]) if source is not None and len(named) == 1 else None


def filled_with(holder: str, case: Case) -> Expression | None:
    """The argument of the one `holder.append(...)` in the functions on the way to the crash."""
    for frame in reversed(case.frames):
        source = case.source(frame.place) if frame.own else None
        statement = source.statement_at(frame.place.line or 0) if source else None
        if source is None or statement is None:
            continue
        nodes = ast.walk(source.scope_of(statement))
        added = [node.args[0] for node in nodes if appends_to(node, holder)]  # type: ignore[attr-defined]
        if len(added) == 1:
            return case.expression(source, added[0])
    return None


def appends_to(node: ast.AST, holder: str) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[_]):
            return name == holder
    return False
