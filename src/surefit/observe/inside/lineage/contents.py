"""Values by what they hold: how a list is known again as a row of a tensor, behind a library."""

import sys
import time
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from typing import Any

from surefit.observe.inside.autopsy.values import is_a, is_tensor, mapping
from surefit.observe.inside.lineage.records import GONE, Record, Records
from surefit.observe.inside.lineage.wrapping import nodes

FEWEST, MOST = 2, 4096
MOST_ROWS = 4096
"""Of one recorded tensor or array, whose rows are looked up one by one."""
SECONDS = 12.0
"""That reading the contents of all records may take."""

Fingerprint = tuple[str, int, bytes]


def flat(value: Any, depth: int = 6) -> list[Any] | None:
    """The numbers or texts in a list; None where there are others, or too many."""
    items: list[Any] = []
    waiting = [iter((value,))]
    while waiting:
        for item in waiting[-1]:
            kind = type(item)
            if kind in (int, float, bool, str):
                items.append(item)
                if len(items) > MOST:
                    return None
            elif kind in (list, tuple) and len(waiting) <= depth:
                waiting.append(iter(item))
                break
            else:
                number = number_in(item)
                if number is None:
                    return None
                items.append(number)
        else:
            waiting.pop()
    return items


def number_in(item: Any) -> Any:
    if type(item).__module__ == "numpy" and is_a(item, "numpy", "generic"):
        return item.item()
    if is_tensor(item) and item.numel() == 1 and not item.is_meta:
        return item.item()
    return None


def fingerprint(value: Any) -> Fingerprint | None:
    """Equal for equal numbers, whatever their dtype and shape; None where the content says
    nothing: one number over and over, or too few or too many of them."""
    kind = type(value)
    if kind is str:
        return ("text", len(value), value.encode(errors="replace")) if len(value) >= 4 else None
    if kind in (list, tuple):
        items = flat(value)
        return of_items(items) if items is not None else None
    plain = as_array(value)
    if plain is None or not FEWEST <= plain.size <= MOST:
        return None
    return of_array(plain)


def of_items(items: list[Any]) -> Fingerprint | None:
    if not FEWEST <= len(items) <= MOST or all(item == items[0] for item in items):
        return None
    if any(type(item) is str for item in items):
        return "texts", len(items), repr(items).encode(errors="replace")
    try:
        return "numbers", len(items), array("f", items).tobytes()
    except (TypeError, ValueError, OverflowError):
        return None


def as_array(value: Any) -> Any:
    """A tensor, an array or a column as an array of NumPy; None for others."""
    if is_tensor(value):
        if value.is_meta or value.device.type not in ("cpu", "cuda", "mps", "xpu"):
            return None
        if value.numel() > MOST * MOST_ROWS or str(value.layout) != "torch.strided":
            return None
        torch = sys.modules["torch"]
        plain = value.detach()
        if plain.is_complex() or plain.is_quantized:
            return None
        return plain.to(device="cpu", dtype=torch.float32).numpy()
    if is_a(value, "numpy", "ndarray"):
        return value
    if type(value).__module__.startswith("pandas") and type(value).__name__ in ("Series", "Index"):
        return value.to_numpy()
    return None


def of_array(plain: Any) -> Fingerprint | None:
    if plain.dtype.kind in "OSU":
        return of_items(plain.reshape(-1).tolist())
    if plain.dtype.kind not in "biuf":
        return None
    numbers = plain.reshape(-1).astype("float32")
    if (numbers == numbers[0]).all():
        return None
    return "numbers", int(numbers.size), numbers.tobytes()


def rows_of(value: Any, most: int = 64) -> Iterator[Any]:
    """Rows of a batch, along its first axis."""
    if type(value) in (list, tuple):
        yield from value[:most]
        return
    plain = as_array(value)
    if plain is not None and plain.ndim >= 2:
        yield from plain[:most]


def is_nested(value: Any) -> bool:
    """A list of lists, or of texts."""
    return type(value) is list and bool(value) and type(value[0]) in (list, tuple, str)


def without_padding(row: Any) -> Iterator[Any]:
    """The row without numbers that repeat at its end, or at its start."""
    plain = as_array(row)
    items = plain.reshape(-1).tolist() if plain is not None and plain.size <= MOST else None
    if plain is None and type(row) in (list, tuple):
        items = flat(row)
    if not items:
        return
    end = len(items)
    while end > 1 and items[end - 1] == items[-1]:
        end -= 1
    if end < len(items):
        yield items[:end]
        if end + 1 < len(items):
            yield items[: end + 1]
    start = 0
    while start < len(items) - 1 and items[start] == items[0]:
        start += 1
    if start:
        yield items[start:]


class ContentIndex:
    """What every recorded value holds, read once, when a lineage is told."""

    def __init__(self, records: Records) -> None:
        self.records = records
        self.whole: dict[Fingerprint, list[int]] = {}
        self.inside: dict[Fingerprint, list[int]] = {}
        """What mappings hold that a library made, as a tokenizer does, and rows of that."""
        self.rows: dict[Fingerprint, list[tuple[int, int]]] | None = None
        """Row -> identities of what has it, and its number there."""
        self.serials: dict[int, list[int]] = {}
        """Of each of these: the records that it is the value of."""
        self.held: list[Any] = []
        self.complete = True
        self.read: dict[int, tuple[Any, Fingerprint | None]] = {}
        """Identity -> the object and its content: a list that grows has many records."""
        ends = time.monotonic() + SECONDS
        for record in list(records.by_serial.values()):
            if record.node < 0 or nodes[record.node].kind in ("name", "parameter"):
                continue
            if time.monotonic() > ends:
                self.complete = False
                break
            known = self.fingerprint(record.value)
            if known is not None:
                self.whole.setdefault(known, []).append(record.serial)
            elif nodes[record.node].kind == "call" and record.operation != "mutation":
                self.index_members(record)

    def fingerprint(self, value: Any) -> Fingerprint | None:
        """Of an object that is recorded."""
        known = self.read.get(id(value))
        if known is None or known[0] is not value:
            known = self.read[id(value)] = value, safe_fingerprint(value)
        return known[1]

    def index_members(self, record: Record) -> None:
        for held in (mapping(record.value) or {}).values():
            rows = rows_of(held, MOST_ROWS) if type(held) is not list or is_nested(held) else ()
            for value in (held, *rows):
                known = safe_fingerprint(value)
                if known is not None:
                    self.inside.setdefault(known, []).append(record.serial)

    def newest(self, value: Any, before: int) -> int:
        """Serial of the newest expression with this content, before another; 0 for none."""
        known = safe_fingerprint(value)
        if known is None:
            return 0
        for table in (self.whole, self.inside):
            for serial in reversed(table.get(known, ())):
                if serial < before:
                    return serial
        return 0

    def newest_row(self, row: Any, before: int) -> int:
        """Of a row, also of one that was padded since."""
        serial = self.newest(row, before)
        if serial:
            return serial
        for shorter in without_padding(row):
            if len(shorter) >= FEWEST and (serial := self.newest(shorter, before)):
                return serial
        return 0

    def in_rows(self, row: Any, before: int) -> tuple[int, int]:
        """Serial of a recorded tensor or list that has this row, and its number there."""
        if self.rows is None:
            self.rows = {}
            ends = time.monotonic() + SECONDS
            for record in list(self.records.by_serial.values()):
                if record.node >= 0 and time.monotonic() < ends:
                    self.index_rows(record)
        known = safe_fingerprint(row)
        places = self.rows.get(known, ()) if known is not None else ()
        newest = ((newest_before(self.serials[identity], before), at) for identity, at in places)
        return max((place for place in newest if place[0]), default=(0, 0))

    def index_rows(self, record: Record) -> None:
        kind = nodes[record.node].kind
        if self.rows is None or kind in ("name", "parameter", "attribute", "subscript"):
            return
        value = record.value
        if not is_nested(value) and not is_tensor(value) and not is_a(value, "numpy", "ndarray"):
            return
        if id(value) in self.serials:
            self.serials[id(value)].append(record.serial)
            return
        self.serials[id(value)] = [record.serial]
        self.held.append(value)
        for at, row in enumerate(rows_of(value, MOST_ROWS)):
            known = safe_fingerprint(row) if type(row) not in (list, str) else self.fingerprint(row)
            if known is not None:
                self.rows.setdefault(known, []).append((id(value), at))


def newest_before(serials: list[int], before: int) -> int:
    at = bisect_left(serials, before)
    return serials[at - 1] if at else 0


def safe_fingerprint(value: Any) -> Fingerprint | None:
    if value is GONE:
        return None
    try:
        return fingerprint(value)
    except Exception:  # noqa: BLE001 - a value that cannot be read has no content to compare
        return None
