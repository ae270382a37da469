"""Where the labels of a `datasets.Dataset` are made, and how each of them becomes another."""

import ast
from dataclasses import dataclass
from typing import Literal

from surefit.doctor.conditions.inputs import inputs_of
from surefit.doctor.findings import Place
from surefit.doctor.observations import Crash, Script
from surefit.doctor.recording import Recording
from surefit.evidence.row_makers import columns_of, row_makers
from surefit.source.edits import wrapped
from surefit.source.patches import Edit
from surefit.source.reading import Source, called

LABELS = ("labels", "label", "label_ids")
"""Collators of transformers give all of them to the model as `labels`."""
MOST_AXES = 2


@dataclass(frozen=True, slots=True)
class DatasetLabels:
    """The one expression that a script has for the labels of a row or of all rows: plain numbers
    and lists, for no tensor is made before a collator does."""

    source: Source
    node: ast.expr
    of: Literal["row", "column"]
    axes: int
    """Of a batch of them, as the model was given it."""

    @property
    def text(self) -> str:
        return " ".join(self.source.segment(self.node).split())

    @property
    def place(self) -> Place:
        return Place(self.source.file, self.node.lineno, self.node.end_lineno)

    def each(self, change: str) -> Edit:
        """Every label as another: `float({})`, `{} - 1`."""
        depth = self.axes - 1 if self.of == "row" else self.axes
        one = change.format("one")
        if depth == 0:
            before, behind = change.split("{}")
            tight = ast.Name | ast.Attribute | ast.Subscript | ast.Call | ast.Constant
            if not before and not isinstance(self.node, tight):
                before, behind = "(", f"){behind}"
            return wrapped(self.source, self.node, before, behind)
        if depth == 1:
            return wrapped(self.source, self.node, f"[{one} for one in ", "]")
        return wrapped(self.source, self.node, f"[[{one} for one in row] for row in ", "]")


def dataset_labels(crash: Crash, seen: Recording) -> DatasetLabels | None:
    """What a function given to `map` gives back as labels, or else the column that a dataset was
    made with; None where there are several, or where the labels are no plain numbers."""
    calls = [call for call in inputs_of(seen, crash.process.rank) if call.step == crash.steps]
    shape = calls[-1].shapes.get("labels", ()) if calls else ()
    if not 0 < len(shape) <= MOST_AXES:
        return None
    sources = [seen.source(script.file) for script in seen.all(Script)]
    mapped = [(one, node) for one in sources if one for node in mapped_labels(one)]
    if mapped:
        source, node = mapped[0]
        return DatasetLabels(source, node, "row", len(shape)) if len(mapped) == 1 else None
    columns = [(one, node) for one in sources if one for node in given_labels(one)]
    if len(columns) != 1:
        return None
    return DatasetLabels(*columns[0], "column", len(shape))


def mapped_labels(source: Source) -> list[ast.expr]:
    return [
        node
        for maker in row_makers(source)
        if maker.mapped is not None
        for name, node in columns_of(source, maker.function).items()
        if name in LABELS
    ]


def given_labels(source: Source) -> list[ast.expr]:
    """In the dictionary of `Dataset.from_dict`."""
    return [
        value
        for call in source.every(ast.Call)
        if called(call) == "from_dict" and call.args and isinstance(call.args[0], ast.Dict)
        for key, value in zip(call.args[0].keys, call.args[0].values, strict=True)
        if isinstance(key, ast.Constant) and key.value in LABELS
    ]
