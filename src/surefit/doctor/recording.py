"""All observations of one run, and the questions that rules still have about it."""

import ast
import json
import pkgutil
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar, get_args

import msgspec

from surefit.doctor import measures, observations
from surefit.doctor.findings import Place
from surefit.doctor.observations import Answer, Crash, Ended, Json, Observation, Question, Script
from surefit.source.reading import Source

Kind = TypeVar("Kind")
Node = TypeVar("Node", bound=ast.AST)


@cache
def kinds() -> dict[str, Any]:
    """By name: all observations, and a measure of each law."""
    for file in pkgutil.iter_modules(measures.__path__):
        import_module(f"{measures.__name__}.{file.name}")
    every = (*get_args(Observation), *observations.Measure.__subclasses__())
    return {kind.__name__: kind for kind in every}


@dataclass(slots=True)
class Recording:
    """Observations in the order they were made. Rules read it; only answers are added to it."""

    observations: list[Observation]
    open_questions: list[Question] = field(default_factory=list)

    def all(self, kind: type[Kind]) -> Iterator[Kind]:
        return (one for one in self.observations if isinstance(one, kind))

    def of_first_rank(self, kind: type[Kind]) -> Iterator[Kind]:
        """Of several ranks, those of the first; all where there is no launcher."""
        return (seen for seen in self.all(kind) if seen.process.rank in (None, 0))  # type: ignore[attr-defined]

    def crash(self, identity: str | None) -> Crash | None:
        return next((crash for crash in self.all(Crash) if crash.id == identity), None)

    def source(self, place: Place | str | None) -> Source | None:
        """The user's file that a place is in, parsed; None for other files and broken ones."""
        file = place.file if isinstance(place, Place) else place
        text = next((script.text for script in self.all(Script) if script.file == file), None)
        return parsed(file, text) if file is not None and text is not None else None

    def sources(self) -> Iterator[Source]:
        """All files of the user's that can be parsed."""
        for script in self.all(Script):
            source = self.source(script.file)
            if source is not None:
                yield source

    def every(self, kind: type[Node]) -> Iterator[tuple[Source, Node]]:
        """Nodes of one kind in all these files, each with its file."""
        return ((source, node) for source in self.sources() for node in source.every(kind))

    def main_script(self) -> Place:
        files = [script.file for script in self.all(Script) if script.main]
        files += [ended.script for ended in self.all(Ended) if ended.script]
        return Place(files[0] if files else "the script")

    def answer(self, question: Question) -> Answer | None:
        """None as long as nobody has answered it."""
        return next((known for known in self.all(Answer) if known.question == question), None)

    def ask(self, question: Question) -> dict[str, Json] | None:
        """What is known; if nothing yet, the question is noted and the rule is asked again."""
        known = self.answer(question)
        if known is not None:
            return known.said
        if question not in self.open_questions:
            self.open_questions.append(question)
        return None


@cache
def parsed(file: str, text: str) -> Source | None:
    try:
        return Source(file, text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the last two: too deep
        return None


def as_line(observation: Observation) -> str:
    """One line of JSON; numbers that JSON has no word for (nan, inf) are as Python writes them."""
    return json.dumps({"saw": type(observation).__name__, **asdict(observation)})


LONGEST = 100


def read(lines: Iterable[str], folder: Path | None = None) -> Recording:
    """Observations from JSON Lines; files under `folder` are named as seen from there.

    A half-written last line, as a kill leaves it, is passed over.
    """
    return Recording(joined(latest(observations_in(lines, folder))))


def observations_in(lines: Iterable[str], folder: Path | None = None) -> list[Observation]:
    """Line by line, with what was written again and again as it grew."""
    seen: list[Observation] = []
    for line in lines:
        try:
            raw = json.loads(line)
        except ValueError:
            continue
        try:
            kind = kinds()[raw.pop("saw")]
            seen.append(msgspec.convert(shortened(raw, folder), kind, strict=False))
        except (KeyError, TypeError, AttributeError, msgspec.ValidationError) as error:
            why = f"this line of it cannot be read: {line[:LONGEST]} ({error})"
            seen.append(observations.NotObserved("the recording", why))
    return seen


def joined(seen: list[Observation]) -> list[Observation]:
    """Crashes of workers become part of the crash that they led to in the main process.

    A worker that reads ahead fails again on later rows; what never arrived anywhere is left out.
    """
    passed_on = {one.id: one for one in seen if isinstance(one, Crash) and one.passed_on}
    kept: list[Observation] = []
    for one in seen:
        if isinstance(one, Crash) and one.raised_in is not None:
            kept.append(with_frames_of(one, passed_on.get(one.raised_in)))
        elif not (isinstance(one, Crash) and one.passed_on):
            kept.append(one)
    return kept


def with_frames_of(arrived: Crash, raised: Crash | None) -> Crash:
    if raised is None:
        return arrived
    return replace(
        arrived,
        at=raised.at,
        kind=raised.kind,
        said=raised.said,
        frames=(*arrived.frames, *raised.frames),
        chain=raised.chain,
        layer=raised.layer,
        collator=raised.collator,
        memory=raised.memory or arrived.memory,
        compiled=raised.compiled,
        handles=raised.handles,
    )


def latest(seen: Iterable[Observation]) -> list[Observation]:
    """What is written again and again as it grows is kept once, as it was last."""
    kept: dict[object, Observation] = {}
    for number, one in enumerate(seen):
        key: object = number
        if isinstance(one, observations.Steps):
            key = one.process.pid
        elif isinstance(one, observations.Measure):
            key = type(one), one.process.pid
        elif isinstance(one, observations.Swallowed):
            key = one.process.pid, one.handler, one.raised_at, one.said.partition(":")[0]
        elif isinstance(one, Script):
            key = "script", one.file
        kept[key] = one
    return list(kept.values())


def shortened(raw: Any, folder: Path | None) -> Any:
    if folder is None:
        return raw
    if isinstance(raw, dict):
        return {
            key: relative(value, folder)
            if key == "file" and isinstance(value, str)
            else shortened(value, folder)
            for key, value in raw.items()
        }
    return [shortened(value, folder) for value in raw] if isinstance(raw, list) else raw


def relative(file: str, folder: Path) -> str:
    """A library's file by its name in the package: where that is installed says nothing."""
    path = Path(file)
    if "site-packages" in path.parts:
        at = len(path.parts) - 1 - path.parts[::-1].index("site-packages")
        return str(Path(*path.parts[at + 1 :]))
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else file
