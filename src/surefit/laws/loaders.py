"""The loader whose batch was being worked on, and a last batch that is smaller than the others."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import Crash, Json, Question
from surefit.doctor.recording import Recording
from surefit.doctor.words import times
from surefit.source.reading import Source, called

AT_WORK = "loaders"
ARGUMENTS = ("TrainingArguments", "Seq2SeqTrainingArguments")


@dataclass(frozen=True, slots=True)
class LoaderSeen:
    """A loader in the middle of an epoch."""

    place: Place | None
    """Where its batches are set up."""
    size: int
    """Rows of a whole batch."""
    yielded: int
    """Batches of this epoch, the one that was being worked on counted."""
    rows: int | None
    """Of its dataset, where that is known without asking code of the user's."""
    workers: int
    streams: bool
    shuffles: bool
    drops: bool


@dataclass(frozen=True, slots=True)
class ShortBatch:
    """The rows that were left for the last batch of an epoch."""

    loader: LoaderSeen
    rows: int

    @property
    def before(self) -> int:
        """Whole batches before it."""
        return self.loader.yielded - 1

    @property
    def total(self) -> int:
        return self.before * self.loader.size + self.rows

    @property
    def arithmetic(self) -> str:
        """`385 = 12 × 32 + 1`."""
        return f"{self.total} = {times((self.before, self.loader.size))} + {self.rows}"


def loaders_at_work(crash: Crash, seen: Recording) -> list[LoaderSeen]:
    """Asked of the crashed process, the newest first; empty until it has answered."""
    said = seen.ask(Question(AT_WORK, crash.id))
    told = said.get("loaders") if said else None
    return [one for raw in told if (one := loader(raw))] if isinstance(told, list) else []


def loader(raw: Json) -> LoaderSeen | None:
    if not isinstance(raw, dict) or not raw.get("size") or not raw.get("yielded"):
        return None
    place = Place(raw["made"], raw["line"]) if raw.get("made") else None
    return LoaderSeen(
        place,
        raw["size"],
        raw["yielded"],
        raw.get("rows"),
        raw.get("workers") or 0,
        raw.get("streams") is True,
        raw.get("shuffles") is True,
        raw.get("drops") is True,
    )


def short_batch(crash: Crash, seen: Recording, rows: int) -> ShortBatch | None:
    """The last batch of the loader that was at work, if it can have had so many rows.

    Of two that go side by side, as in `zip`, the one whose rows were left over.
    """
    at_work = loaders_at_work(crash, seen)
    beside = [one for one in at_work if one.yielded == at_work[0].yielded]
    found = [ShortBatch(one, rows) for one in beside if can_be_last(one, rows)]
    return found[0] if found else None


def can_be_last(one: LoaderSeen, rows: int) -> bool:
    """Workers of a stream have a last batch each: what came before it cannot be counted."""
    if one.drops or not 0 < rows < one.size or one.yielded < 2 or (one.streams and one.workers):
        return False
    return one.rows is None or ShortBatch(one, rows).total == one.rows


def loader_call(source: Source, place: Place) -> ast.Call | None:
    """The call at a line that makes a loader, or the sampler of its batches."""
    calls = [
        one
        for one in source.calls_in(place.line or 0)
        if called(one) in ("DataLoader", "BatchSampler")
    ]
    return calls[0] if len(calls) == 1 else None


def arguments_call(source: Source) -> ast.Call | None:
    """The one call that sets up a Trainer, which makes its loaders itself."""
    calls = list(source.calls_of(*(f"transformers.{name}" for name in ARGUMENTS)))
    return calls[0] if len(calls) == 1 else None


def makes_several(source: Source, call: ast.Call) -> bool:
    """A loop gives it something else each time, or it stands in a function that is called more
    than once: other loaders come from it, too."""
    used = {node.id for node in ast.walk(call) if isinstance(node, ast.Name)}
    for outer in source.up(call):
        if used & set(bound_by_loop(outer)):
            return True
        if isinstance(outer, ast.FunctionDef):
            return len([one for one in source.every(ast.Call) if called(one) == outer.name]) > 1
    return False


def bound_by_loop(loop: ast.AST) -> Iterator[str]:
    targets = [loop.target] if isinstance(loop, ast.For) else []
    if isinstance(loop, ast.ListComp | ast.DictComp | ast.SetComp | ast.GeneratorExp):
        targets = [one.target for one in loop.generators]
    for target in targets:
        yield from (node.id for node in ast.walk(target) if isinstance(node, ast.Name))
