"""The batch that was being worked on: how many rows it has, and where its loader is created."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from surefit.doctor.findings import Place
from surefit.doctor.observations import Frame, Value
from surefit.doctor.words import times
from surefit.laws.case import Case
from surefit.laws.values.frame_numbers import integer_in
from surefit.source.reading import Source, names_within


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderAtWork:
    """A loader in the middle of an epoch."""

    made: str | None = None
    """The file in which its batches are set up."""
    line: int | None = None
    size: int | None = None
    """Rows of a complete batch."""
    yielded: int | None = None
    """Batches of this epoch, the current one included."""
    rows: int | None = None
    """Of its dataset, where that is known without calling the user's code."""
    workers: int | None = None
    streams: bool | None = None
    shuffles: bool | None = None
    drops: bool | None = None

    @property
    def place(self) -> Place | None:
        return Place(self.made, self.line) if self.made else None

    def can_end_with(self, rows: int) -> bool:
        """Whether this batch can be the last one, with so many rows. Workers of a stream have a
        last batch each: what came before it cannot be counted."""
        if not self.size or not self.yielded or self.drops or (self.streams and self.workers):
            return False
        last = 0 < rows < self.size and self.yielded > 1
        return last and self.rows in (None, (self.yielded - 1) * self.size + rows)


@dataclass(frozen=True, slots=True)
class LoadersAtWork:
    """The newest first."""

    probe: ClassVar[str] = "loaders"

    loaders: tuple[LoaderAtWork, ...] = ()


@dataclass(frozen=True, slots=True)
class LastBatch:
    """The rows that were left for the last batch of an epoch."""

    loader: LoaderAtWork
    rows: int

    @property
    def size(self) -> int:
        return self.loader.size or 0

    @property
    def before(self) -> int:
        """Complete batches before it."""
        return (self.loader.yielded or 1) - 1

    @property
    def total(self) -> int:
        return self.before * self.size + self.rows

    @property
    def arithmetic(self) -> str:
        """`385 = 12 × 32 + 1`."""
        return f"{self.total} = {times((self.before, self.size))} + {self.rows}"


def loaders_at_work(case: Case) -> tuple[LoaderAtWork, ...]:
    answer = case.ask(LoadersAtWork)
    known = answer.loaders if answer is not None else ()
    return tuple(loader for loader in known if loader.size and loader.yielded)


def last_batch(case: Case, rows: int) -> LastBatch | None:
    """Of the loader that was at work, if it can have so many rows. Of two that advance together,
    as in `zip`, the one whose rows were left over."""
    at_work = loaders_at_work(case)
    beside = [loader for loader in at_work if loader.yielded == at_work[0].yielded]
    return next((LastBatch(loader, rows) for loader in beside if loader.can_end_with(rows)), None)


@dataclass(frozen=True, slots=True)
class Batches:
    """What the batch comes from."""

    size: int
    """Rows of a complete batch."""
    loader: LoaderAtWork | None = None
    first_sizes: frozenset[int] = frozenset()
    """Of what the loop over batches gave out, where that can be read."""

    def can_have(self, rows: int) -> bool:
        """Whether the batch can have so many rows."""
        if self.first_sizes and rows not in self.first_sizes:
            return False
        if rows == self.size or self.loader is None:
            return 0 < rows <= self.size
        return self.loader.can_end_with(rows)

    def words(self, rows: int) -> str:
        """`385 = 12 × 32 + 1`, or that complete batches have so many."""
        if rows == self.size:
            return f"each batch has {rows}"
        if self.loader is not None:
            return f"the last batch has {rows}: {LastBatch(self.loader, rows).arithmetic}"
        return f"the last batch has {rows}, the others {self.size}"


def batches_of(case: Case) -> Batches | None:
    """Of the loader that was at work; without one, of the loop that cuts the rows."""
    at_work, sizes = loaders_at_work(case), frozenset(first_sizes(case))
    if at_work:
        return Batches(at_work[0].size or 0, at_work[0], sizes)
    for frame, loop in loops(case):
        size = step_of(loop, frame)
        if size:
            return Batches(size, None, sizes)
    return None


def loops(case: Case) -> Iterator[tuple[Frame, ast.For]]:
    """The loops that the user's frames stand in, outermost frame first."""
    for frame in case.frames:
        source = case.source(frame.place) if frame.own else None
        if source is not None:
            yield from ((frame, loop) for loop in loops_around(source, frame))


def loops_around(source: Source, frame: Frame) -> Iterator[ast.For]:
    statement = source.statement_at(frame.place.line or 0)
    for outer in (statement, *source.up(statement)) if statement else ():
        if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef):
            return
        if isinstance(outer, ast.For):
            yield outer


def first_sizes(case: Case) -> Iterator[int]:
    """Of the tensors that loops in the user's code give a name to; without such a loop, of what
    the model was called with."""
    sizes: list[int] = []
    for frame, loop in loops(case):
        names = set(names_within(loop.target))
        sizes += [shape[0] for value in frame.values if value.text in names for shape in of(value)]
    inside = (frame for frame in case.frames if frame.own and is_method_of_module(frame))
    model = next(inside, None)
    if not sizes and model is not None:
        arguments = [value for value in model.values if value.text in model.arguments]
        sizes = [shape[0] for value in arguments for shape in of(value)]
    yield from sizes


def of(value: Value) -> list[tuple[int, ...]]:
    inside = [member.shape for member in value.members.values()]
    return [shape for shape in (value.shape, *inside) if shape]


def is_method_of_module(frame: Frame) -> bool:
    """Not a function that only has a model as its first argument: `train(model, rows)`."""
    owner = frame.function.rpartition(".")[0]
    return frame.layer is not None and bool(owner) and not owner.endswith("<locals>")


def step_of(loop: ast.For, frame: Frame) -> int | None:
    """`range(0, n, 32)`, `rows.split(32)`."""
    for node in ast.walk(loop.iter):
        match node:
            case ast.Call(func=ast.Name(id="range"), args=[_, _, step]):
                return integer_in(frame, step)
            case ast.Call(func=ast.Attribute(attr="split"), args=[size]):
                return integer_in(frame, size)
    return None
