"""Which reader opens what: the Trainer's state, TensorBoard events, CSV, JSON Lines, text."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from surefit.logs.entries import LogEntry, collect
from surefit.logs.series import Point, Series, TrainingLog
from surefit.logs.text_lines import entries_in, numbers_of
from surefit.user_files import look_at

TRAINER_STATE = "trainer_state.json"
EVENTS = "tfevents"
MOST_FILES = 5_000
"""Files of a folder that are looked at for a log."""


class UnreadableLog(Exception):  # noqa: N818 - the caller makes a finding of it
    """A log that cannot be read, and why."""


def read_log(text: str, name: str) -> TrainingLog:
    """A text: of the Trainer's state, a table, or lines."""
    if text.lstrip().startswith("{") and '"log_history"' in text:
        state = trainer_state(text, name)
        if state is not None:
            return state
    if name.endswith((".csv", ".tsv")):
        return TrainingLog(name, "CSV", collect(table_entries(text)))
    return TrainingLog(name, "text", collect(entries_in(text)))


def trainer_state(text: str, name: str) -> TrainingLog | None:
    """`trainer_state.json`, as the Hugging Face Trainer writes it into every checkpoint."""
    try:
        state: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    history = state.get("log_history") if isinstance(state, dict) else None
    if not isinstance(history, list):
        return None
    entries = (LogEntry(numbers_of(entry)) for entry in history)
    planned = state.get("max_steps")
    return TrainingLog(
        name, "Trainer state", collect(entries), planned if isinstance(planned, int) else None
    )


def table_entries(text: str) -> Iterator[LogEntry]:
    """Rows of a table with a head, as Lightning and Keras write it: cells may be empty."""
    lines = text.splitlines()
    separator = "\t" if lines and "\t" in lines[0] else ","
    try:
        for row in csv.DictReader(lines, delimiter=separator):
            numbers = numbers_of({name: cell for name, cell in row.items() if name and cell})
            yield LogEntry(numbers, None)
    except csv.Error as error:
        raise UnreadableLog(str(error)) from error


def is_events(path: Path) -> bool:
    return EVENTS in path.name


def read_events(path: Path) -> TrainingLog:
    """Scalars of a TensorBoard event file, by the library that wrote it."""
    try:
        from tensorboard.backend.event_processing.event_accumulator import (
            EventAccumulator,
        )
    except ImportError as error:
        raise UnreadableLog("reading TensorBoard events takes `pip install tensorboard`") from error
    events = EventAccumulator(str(path), size_guidance={"scalars": 0, "tensors": 0})
    try:
        look_at(path)
        events.Reload()
        series = [
            Series(tag, tuple(Point(event.value, event.step) for event in events.Scalars(tag)))
            for tag in events.Tags()["scalars"]
        ]
    except Exception as error:
        raise UnreadableLog(f"{type(error).__name__}: {error}") from error
    kept = tuple(scalars for scalars in series if len(scalars.points) > 1)
    return TrainingLog(str(path), "TensorBoard events", kept)


def newest_log(folder: Path) -> Path | None:
    """Of a run's folder: the newest state of a Trainer, or events, or a table of metrics."""
    files = [path for _, path in zip(range(MOST_FILES), folder.rglob("*"), strict=False)]
    for fits in (
        lambda path: path.name == TRAINER_STATE,
        lambda path: path.name in ("metrics.jsonl", "metrics.csv", "log.csv"),
        is_events,
        lambda path: path.suffix == ".log",
    ):
        fitting = [path for path in files if fits(path) and path.is_file()]
        if fitting:
            return max(fitting, key=lambda path: path.stat().st_mtime)
    return None
