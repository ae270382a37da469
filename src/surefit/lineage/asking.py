"""The lineage of a value of a crash, asked of the recording that knows it."""

from pathlib import Path
from typing import Any

import msgspec

from surefit.doctor.observations import Crash, Frame, Json, Question, Value
from surefit.doctor.recording import Recording
from surefit.lineage.lineage import Lineage
from surefit.lineage.producers import LINEAGE, Producer, ProducerGraph, Root


def lineage_of(
    recording: Recording, crash: Crash, value: Value | tuple[int, str]
) -> Lineage | None:
    """Of a value of a crash, or of an expression in one of its frames, by the frame's number. None
    as long as no second run has told it, and where that found nothing."""
    said = recording.ask(Question(LINEAGE, crash.id, {}))
    if said is None:
        return None
    graph = read(said)
    places = [value] if isinstance(value, tuple) else list(where(crash, value))
    for number, text in places:
        root = root_of(graph, crash.frames[number], text)
        if root is not None:
            return lineage_from(graph, root)
    return None


def lineage_at(recording: Recording, file: str, line: int, text: str, step: int) -> Lineage | None:
    """Of the value of an expression at a line, at an optimizer step of a run that does not fail."""
    about: dict[str, Json] = {"file": file, "line": line, "text": text, "step": step}
    said = recording.ask(Question(LINEAGE, "", about))
    graph = read(said) if said is not None else None
    return lineage_from(graph, graph.roots[0]) if graph is not None and graph.roots else None


def lineage_from(graph: ProducerGraph, root: Root) -> Lineage:
    every = next((one[2] for one in _read.values() if one[1] is graph), None)
    if every is None:
        every = {one.serial: one for one in graph.producers}
    return Lineage(every, root.inputs, graph.ended)


def where(crash: Crash, value: Value) -> list[tuple[int, str]]:
    """Frames and texts under which a value stands, the innermost first."""
    same = [
        (number, other.text)
        for number, frame in reversed(list(enumerate(crash.frames)))
        for other in frame.values
        if other == value or (value.identity and other.identity == value.identity)
    ]
    exact = [one for one in same if one[1] == value.text]
    return [*exact, *(one for one in same if one not in exact)]


def root_of(graph: ProducerGraph, frame: Frame, text: str) -> Root | None:
    key = frame.function, Path(frame.place.file).name, frame.place.line or 0
    for root in graph.roots:
        if (root.function, root.file, root.line) == key and plain(root.text) == plain(text):
            return root
    return None


def plain(text: str) -> str:
    return text.replace('"', "'").replace(" ", "").replace("\n", "")


_read: dict[int, tuple[Any, ProducerGraph, dict[int, Producer]]] = {}


def read(said: dict[str, Json]) -> ProducerGraph:
    """Once for each answer: it holds thousands of producers."""
    known = _read.get(id(said))
    if known is None or known[0] is not said:
        graph = msgspec.convert(said, ProducerGraph, strict=False)
        known = _read[id(said)] = said, graph, {one.serial: one for one in graph.producers}
    return known[1]
