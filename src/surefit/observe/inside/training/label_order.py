"""Runs of equal class labels in the order in which rows are trained on."""

from dataclasses import dataclass, field
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.measures.row_use import LabelOrder
from surefit.observe.inside.autopsy import values
from surefit.observe.inside.training import readable

MOST_BATCHES = 4096
MOST_RUNS = 64
MOST_ROWS = 4096
"""Of a batch."""
FEWEST_ROWS = 4
"""Of a batch that counts as one of a single class."""
NAMES = ("labels", "label", "target", "targets", "y")


@dataclass(slots=True)
class Labels:
    """Those of one epoch of a loader, or of one loss."""

    place: Place | None = None
    rows: int = 0
    batches: int = 0
    single: int = 0
    changes: int = 0
    last: int | None = None
    classes: set[int] = field(default_factory=set)
    runs: list[int] = field(default_factory=list)

    @property
    def full(self) -> bool:
        return self.batches >= MOST_BATCHES

    def add(self, labels: list[int]) -> None:
        kinds = set(labels)
        self.rows += len(labels)
        self.batches += 1
        self.single += len(kinds) == 1 and len(labels) >= FEWEST_ROWS
        self.classes |= kinds
        for label in labels if len(kinds) > 1 else labels[:1]:
            if label != self.last:
                self.changes += self.last is not None
                self.last = label
                if len(self.runs) < MOST_RUNS:
                    self.runs.append(label)

    def order(self) -> LabelOrder | None:
        if not self.batches:
            return None
        return LabelOrder(
            place=self.place,
            rows=self.rows,
            batches=self.batches,
            single=self.single,
            classes=len(self.classes),
            runs=tuple(self.runs),
            changes=self.changes,
        )


def labels_in(batch: Any) -> list[int] | None:
    """Of a batch of a loader: integers, one for each row, by name or as the last of its parts.
    To be called while looking."""
    inside = values.mapping(batch)
    if inside is not None:
        return next((known for name in NAMES if (known := classes(inside.get(name)))), None)
    parts = list(batch) if type(batch) in (list, tuple) else []
    return classes(parts[-1]) if len(parts) > 1 else None


def classes(value: Any) -> list[int] | None:
    """Class labels, one for each row; also as one column, and as floating-point integers."""
    tensor = readable.plain(value) if values.is_tensor(value) else None
    if tensor is None or not tensor.is_cpu or not 0 < tensor.numel() <= MOST_ROWS:
        return None
    if tensor.dim() == 2 and tensor.shape[1] == 1:
        tensor = tensor[:, 0]
    if tensor.dim() != 1:
        return None
    if tensor.dtype.is_floating_point and not bool((tensor == tensor.round()).all()):
        return None
    return [int(label) for label in tensor.tolist()]
