"""The lineage of a value of a crash, asked of the recording that knows it."""

from pathlib import Path
from typing import Any

import msgspec

from surefit.doctor.observations import Crash, Frame, Json, Question, Value
from surefit.doctor.recording import Recording
from surefit.lineage.lineage import Lineage
from surefit.lineage.producers import LINEAGE, Producer, ProducerGraph, ValueRoot


def lineage_of(
    recording: Recording, crash: Crash, value: Value | tuple[int, str]
) -> Lineage | None:
    """Of a value of a crash, or of an expression in one of its frames, by the frame's number. None
    as long as no second run has told it, and where that found nothing."""
    said = recording.ask(Question(LINEAGE, crash.id, {}))
    if said is None:
        return None
    graph = read(said)
    places = where_written(crash, *value) if isinstance(value, tuple) else where(crash, value)
    for number, text in places:
        root = root_of(graph, crash.frames[number], text)
        if root is not None:
            return lineage_from(graph, root)
    return None


def lineage_of_rows(
    recording: Recording, crash: Crash, function: str, text: str = ""
) -> Lineage | None:
    """Of a column of the rows that a collator was given, or of the dataset that they are from."""
    said = recording.ask(Question(LINEAGE, crash.id, {}))
    graph = read(said) if said is not None else None
    for root in graph.roots if graph is not None else ():
        if graph is not None and (root.function, root.text) == (function, text):
            return lineage_from(graph, root)
    return None


def lineage_about(recording: Recording, about: dict[str, Json]) -> Lineage | None:
    """Of the value of an expression at a line, or of the target of a loss that is computed there,
    at an optimizer step of a run that does not fail."""
    said = recording.ask(Question(LINEAGE, "", about))
    graph = read(said) if said is not None else None
    return lineage_from(graph, graph.roots[0]) if graph is not None and graph.roots else None


def lineage_from(graph: ProducerGraph, root: ValueRoot) -> Lineage:
    every = next((entry[2] for entry in _read.values() if entry[1] is graph), None)
    if every is None:
        every = {producer.serial: producer for producer in graph.producers}
    return Lineage(every, root.inputs, graph.ended)


def where_written(crash: Crash, number: int, text: str) -> list[tuple[int, str]]:
    """An expression in a frame, and wherever else its value stands."""
    values = [value for value in crash.frames[number].values if plain(value.text) == plain(text)]
    return [(number, text), *(place for value in values[:1] for place in where(crash, value))]


def where(crash: Crash, value: Value) -> list[tuple[int, str]]:
    """Frames and texts under which a value stands, the innermost first."""
    same = [
        (number, other.text)
        for number, frame in reversed(list(enumerate(crash.frames)))
        for other in frame.values
        if other == value or (value.identity and other.identity == value.identity)
    ]
    exact = [place for place in same if place[1] == value.text]
    return [*exact, *(place for place in same if place not in exact)]


def root_of(graph: ProducerGraph, frame: Frame, text: str) -> ValueRoot | None:
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
        known = _read[id(said)] = (
            said,
            graph,
            {producer.serial: producer for producer in graph.producers},
        )
    return known[1]
