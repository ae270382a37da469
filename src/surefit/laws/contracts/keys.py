"""What is asked for by a key, a label of an index or a position must be there."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import Value
from surefit.doctor.violations import Operand, Violation
from surefit.doctor.words import code
from surefit.laws.case import Case, use_of
from surefit.laws.values.subscripts import Asked, keys_asked, subscript_in

MOST_KEYS = 40
"""From here on not all keys of a value are known."""
SUFFIXES = ("_x", "_y")
"""That `merge` of pandas puts behind names which both tables have."""
LAZY = ("LazyRow", "LazyBatch")
"""Rows that `datasets.map` hands to a function; the columns are inside."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotThere(Violation):
    """A subscript, or `pop`, asked a holder for something that it does not have."""

    holder: Operand
    asked: Asked
    """The subscript in its source."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyAbsent(NotThere):
    """A mapping, a row or a table has no such key."""

    key: str
    members: Mapping[str, Value]
    """All that it has."""
    written: ast.Constant | None = None
    """The key in the source, where it is written in it."""

    @property
    def is_subscript(self) -> bool:
        """It stands in the brackets itself, and not in a list of keys."""
        return self.written is self.asked.key

    @property
    def joined(self) -> tuple[str, ...]:
        """What a join has called it, where both tables had it: `region_x` and `region_y`."""
        names = tuple(f"{self.key}{suffix}" for suffix in SUFFIXES)
        return names if set(names) <= set(self.members) else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryAbsent(NotThere):
    """What was loaded from a checkpoint has no such entry."""

    key: str
    entries: tuple[str, ...]
    saved_at: Place | None = None
    """Of source that was only read: the dict that is saved to the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelAbsent(NotThere):
    """The index of a pandas object has no such label, though it has a row at that position."""

    label: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionAbsent(NotThere):
    """A sequence has fewer items."""

    length: int


def violations_of(case: Case) -> Iterator[Violation]:
    crash, frame = case.crash, case.own
    if crash is None or frame is None or crash.kind not in ("KeyError", "IndexError"):
        return
    asked = subscript_in(frame, case.recording)
    if asked is None or asked.holder is None:
        return
    operand = Operand(
        value=asked.holder,
        name=code(asked.source.segment(asked.base)),
        frame=case.number,
        use=case.expression(asked.source, asked.base),
    )
    value, use = asked.holder, use_of(frame)
    length = operand.shape[0] if operand.shape else value.length
    if crash.kind == "IndexError":
        if length is not None:
            yield PositionAbsent(use=use, holder=operand, asked=asked, length=length)
        return
    label, rows = asked.wanted.scalar if asked.wanted is not None else None, value.length or 0
    if value.numbered is False and type(label) is int and 0 <= label < rows:
        yield LabelAbsent(use=use, holder=operand, asked=asked, label=label, rows=rows)
    members = members_of(case, value)
    absent = [(key, node) for key, node in keys_asked(asked) if key not in members]
    if absent and 0 < len(members) < MOST_KEYS:
        key, written = absent[0]
        if is_loaded(case, operand, asked):
            entries = tuple(members)
            yield EntryAbsent(use=use, holder=operand, asked=asked, key=key, entries=entries)
        else:
            yield KeyAbsent(
                use=use, holder=operand, asked=asked, key=key, members=members, written=written
            )


def is_loaded(case: Case, holder: Operand, asked: Asked) -> bool:
    """It is what `torch.load` returned: by its lineage or, where no second run shows that, by the
    one assignment of its name."""
    if not any("torch.load" in source.imported_calls for source in case.recording.sources()):
        return False
    created = case.lineage(holder).constructor()
    call = created.call if created is not None else None
    source = case.source(call.place) if call is not None else asked.source
    node = case.node(call) if call is not None else asked.source.value_of(asked.base)
    if not isinstance(node, ast.Call) or source is None:
        return False
    return source.imported(node.func) == "torch.load"


def members_of(case: Case, holder: Value) -> Mapping[str, Value]:
    if holder.kind not in LAZY:
        return holder.members
    inside = case.frames[-1].value("self.data")
    return inside.members if inside is not None else {}
