"""Labels of rows before and after a collator of transformers: which of them count in the loss."""

from dataclasses import dataclass
from types import ModuleType
from typing import Any

from surefit.doctor.measures.loss_inputs import Collated, CollatedLabels
from surefit.observe.inside import finishing, origins, spool
from surefit.observe.inside.after_import import after_import
from surefit.observe.inside.autopsy import values
from surefit.observe.inside.identity import identity
from surefit.observe.inside.training import periodic, readable
from surefit.observe.inside.unseen import around

IGNORED = -100
FIRST = 4
MOST_COLLATORS = 16
MOST_LABELS = 100_000


@dataclass(slots=True)
class Counts:
    """Of one collator."""

    kind: str
    collator: int
    made_at: Any
    looked: int = 0
    rows: int = 0
    width: int = 0
    equal_lengths: bool = True
    labels: int = 0
    supervised: int = 0
    supervised_after: int = 0


_counts: dict[int, Counts] = {}


@after_import("transformers.data.data_collator")
def collators(module: ModuleType) -> None:
    for name, kind in list(vars(module).items()):
        ours = isinstance(kind, type) and kind.__module__ == module.__name__
        if ours and name.startswith("DataCollator") and "__call__" in vars(kind):
            kind.__call__ = around(kind.__call__, _is_wanted, _collated)


def _is_wanted(args: tuple[Any, ...], _kwargs: dict[str, Any]) -> bool:
    known = _counts.get(identity(args[0]))
    return known.looked < FIRST if known is not None else len(_counts) < MOST_COLLATORS


def _collated(args: tuple[Any, ...], batch: Any) -> None:
    rows = args[1] if len(args) > 1 else None
    inside = values.mapping(batch)
    after = readable.plain(inside.get("labels")) if inside is not None else None
    if type(rows) is not list or after is None or after.dim() != 2 or not readable.can_look():
        return
    before = [numbers((values.mapping(row) or {}).get("labels")) for row in rows]
    if any(row is None for row in before):
        return
    labels = [row for row in before if row is not None]
    counts = _counts.setdefault(
        identity(args[0]),
        Counts(type(args[0]).__name__, identity(args[0]), origins.made_at(args[0])),
    )
    counts.looked += 1
    counts.rows += len(labels)
    counts.width = int(after.shape[1])
    counts.equal_lengths &= all(len(row) == counts.width for row in labels)
    counts.labels += sum(map(len, labels))
    counts.supervised += sum(len(row) - row.count(IGNORED) for row in labels)
    with readable.looking():
        readable.read((after != IGNORED).sum(), lambda number: _add(counts, number))


def _add(counts: Counts, number: int) -> None:
    counts.supervised_after += number


def numbers(labels: Any) -> list[int] | None:
    """Of a row, as a list."""
    if type(labels) is list:
        return labels if len(labels) <= MOST_LABELS else None
    with readable.looking():
        plain = readable.plain(labels) if values.is_tensor(labels) else None
        if plain is None or plain.dim() != 1 or not plain.is_cpu or plain.numel() > MOST_LABELS:
            return None
        return list(plain.tolist())


@periodic.every_few_seconds
@finishing.at_end
def write() -> None:
    if _counts:
        seen = [counts for counts in _counts.values() if counts.looked]
        told = tuple(
            Collated(
                kind=counts.kind,
                made_at=counts.made_at,
                looked=counts.looked,
                rows=counts.rows,
                width=counts.width,
                equal_lengths=counts.equal_lengths,
                labels=counts.labels,
                supervised=counts.supervised,
                supervised_after=counts.supervised_after,
            )
            for counts in seen
        )
        spool.saw(CollatedLabels(process=spool.process(), collators=told))


@finishing.after_fork
def forget_parent() -> None:
    _counts.clear()
