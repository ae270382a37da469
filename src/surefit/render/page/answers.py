"""Answers to the held-out rows side by side: before and after training, or of several runs."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from .contents import AnsweredRow, AnswerTable
from .left_behind import LeftBehind

MOST_ROWS = 1500
MOST_CHARACTERS = 1_500_000
"""Of all texts together: a page stays small enough to send."""
LONGEST = 1200
"""Characters of a text that are shown."""

Prediction = Mapping[str, Any]
Item = TypeVar("Item")


def before_and_after(run: LeftBehind) -> AnswerTable | None:
    """Of the first scored epoch and of the best; of a run that goes on, of the newest."""
    epochs = run.predicted_epochs
    if not epochs:
        return None
    best = (run.report or {}).get("best_epoch")
    last = best if best in epochs else epochs[-1]
    shown = list(dict.fromkeys((epochs[0], last)))
    names = [name_of(epoch) for epoch in shown]
    return table(names, [run.predictions(epoch) for epoch in shown])


def beside_each_other(runs: Sequence[LeftBehind], names: Sequence[str]) -> AnswerTable | None:
    """The best answers of each run that has some."""
    columns = []
    for run, name in zip(runs, names, strict=True):
        if run.predicted_epochs:
            best = (run.report or {}).get("best_epoch")
            epoch = best if best in run.predicted_epochs else run.predicted_epochs[-1]
            columns.append((f"{name}, {name_of(epoch)}", run.predictions(epoch)))
    if len(columns) < 2:
        return None
    return table([name for name, _ in columns], [rows for _, rows in columns])


def name_of(epoch: int) -> str:
    return f"epoch {epoch}" if epoch else "before training"


def table(names: Sequence[str], columns: Sequence[Sequence[Prediction]]) -> AnswerTable:
    """Rows that all columns have; two rows are the same if place, input and target are."""
    keyed = [{key_of(prediction): prediction for prediction in column} for column in columns]
    common = [key for key in keyed[0] if all(key in column for column in keyed)]
    chosen = spread(common, MOST_ROWS)
    rows = [answered([column[key] for column in keyed]) for key in chosen]
    fitting = spread(rows, fitting_rows(rows))
    return AnswerTable(
        columns=tuple(names),
        score="F1",
        rows=tuple(fitting),
        note=note(len(fitting), len(common), max(map(len, keyed))),
    )


def key_of(prediction: Prediction) -> tuple[str, str, str]:
    place, asked, target = (str(prediction.get(name, "")) for name in ("place", "input", "target"))
    return place, asked, target


def answered(predictions: Sequence[Prediction]) -> AnsweredRow:
    first = predictions[0]
    return AnsweredRow(
        str(first.get("place", "")),
        cut(str(first.get("input", ""))),
        cut(str(first.get("target", ""))),
        tuple(cut(str(prediction.get("answer", ""))) for prediction in predictions),
        tuple(round(float(prediction.get("f1") or 0.0), 4) for prediction in predictions),
    )


def spread(items: Sequence[Item], most: int) -> list[Item]:
    """So many of them, evenly apart, so that no part of the rows is left out."""
    if len(items) <= most:
        return list(items)
    return [items[number * len(items) // most] for number in range(most)]


def fitting_rows(rows: Sequence[AnsweredRow]) -> int:
    """How many of the rows have room."""
    characters = 0
    for number, row in enumerate(rows):
        characters += sum(map(len, (row.input, row.target, *row.answers)))
        if characters > MOST_CHARACTERS:
            return number
    return len(rows)


def cut(text: str) -> str:
    left = len(text) - LONGEST
    return text if left <= 0 else f"{text[:LONGEST]} … {left:,} more characters"


def note(shown: int, common: int, most: int) -> str:
    said = []
    if common < most:
        said.append(f"{common:,} of {most:,} rows were answered in all of these columns.")
    if shown < common:
        said.append(
            f"{shown:,} of {common:,} rows are here, evenly spread; all are in predictions/."
        )
    return " ".join(said)
