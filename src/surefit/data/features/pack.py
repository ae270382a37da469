"""Packs one-hot rows as ids and multi-hot rows as bits; read again they are the same to the bit."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path

import numpy as np
from numpy.lib import format as npy

from surefit.doctor.findings import Fact, Finding, Fix, Place
from surefit.errors import BadInput, WrongCall, refuse_if
from surefit.writing import new_folder

from .checksums import row_blocks
from .decode import Values, expand_bits, expand_ids
from .files import read_headers
from .folder import Shards, as_shard, check_sample, read_shards
from .layout import Kind, Layout
from .mend import npy_description, put, refuse_in_use, refuse_unequal
from .probe import probe, widest
from .row_checks import OTHER_KIND, check_rows
from .shards import Form, Shard
from .write_layout import write_layout

BLOCK_BYTES = 32_000_000

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Packed:
    """What was written, and how much smaller a row is."""

    shards: Shards
    row_bytes: int
    packed_row_bytes: int


def pack(shards: Shards, out: Path, progress: Progress = lambda _: None) -> Packed:
    """Every row is packed, unpacked and compared; the originals are only read."""
    refuse_in_use(out)
    if shards.form is not Form.PLAIN:
        raise WrongCall(_is_packed(shards))
    kind = shards.layout.kind or _kind(shards)
    if kind is Kind.CONTINUOUS:
        raise BadInput(_continuous(shards))
    form = Form.IDS if kind is Kind.ONE_HOT else Form.BITS
    layout = replace(shards.layout, kind=kind)
    with new_folder(out, "call it again") as side:
        for name, parts in _by_file(shards.shards).items():
            _write(side / name, parts, layout, form, progress)
        made = tuple(as_shard(one, layout, form) for one in read_headers(side).headers)
        write_layout(Shards(side, layout, made, form))
    packed = read_shards(out)
    return Packed(packed, layout.row_bytes, packed.shards[0].stored_row_bytes)


def pack_ids(rows: Values, dtype: str) -> Values:
    """One-hot rows `[rows, steps, features]` as `[rows, steps]`."""
    return np.asarray(rows.argmax(axis=2).astype(dtype))


def pack_bits(rows: Values) -> Values:
    """Rows of zeros and ones as bytes, each row from a whole byte on."""
    return np.packbits(rows.reshape(len(rows), -1) != 0, axis=1)


def ids_dtype(features: int) -> str:
    """The smallest whole numbers that can name every feature; torch knows them all."""
    return next(name for name in ("int8", "int16", "int32") if features - 1 <= np.iinfo(name).max)


def _kind(shards: Shards) -> Kind:
    return widest(one.kind for one in check_sample(shards)) or Kind.CONTINUOUS


def _by_file(shards: tuple[Shard, ...]) -> dict[str, list[Shard]]:
    found: dict[str, list[Shard]] = {}
    for one in shards:
        stem = Path(one.name).stem
        same = {other.name for other in shards if Path(other.name).stem == stem}
        found.setdefault(f"{stem if len(same) == 1 else one.name}.npy", []).append(one)
    return found


def _write(path: Path, parts: list[Shard], layout: Layout, form: Form, progress: Progress) -> None:
    ids = ids_dtype(layout.features)
    dtype = ids if form is Form.IDS else "uint8"
    width = layout.steps if form is Form.IDS else ceil(layout.row_values / 8)
    rows = sum(part.rows for part in parts)
    found = 0
    with path.open("wb") as file:
        npy.write_array_header_1_0(file, npy_description(dtype, (rows, width)))
        begin = file.tell()
        for block in _packed_blocks(parts, layout, form, ids, progress):
            found = put(file, block, found)
    refuse_unequal(path, begin, found)


def _packed_blocks(
    parts: list[Shard], layout: Layout, form: Form, ids: str, progress: Progress
) -> Iterator[Values]:
    each = max(1, BLOCK_BYTES // layout.row_bytes)
    for part in parts:
        first = 0
        for rows in row_blocks(part, each):
            at = range(first, first + len(rows))
            refuse_if(check_rows(part.name, at, rows, probe(rows), layout.kind))
            made = pack_ids(rows, ids) if form is Form.IDS else pack_bits(rows)
            _refuse_other_bits(part, rows, made, form, first)
            yield made
            first += len(rows)
            progress(len(rows))


def _refuse_other_bits(part: Shard, rows: Values, made: Values, form: Form, first: int) -> None:
    """A negative zero equals 0, and has another bit: it would not come back."""
    again = np.empty_like(rows)
    (expand_ids if form is Form.IDS else expand_bits)(made, again)
    other = (again.view(np.uint8) != rows.view(np.uint8)).reshape(len(rows), -1).any(axis=1)
    if not other.any():
        return
    row = first + int(other.argmax())
    raise BadInput(
        OTHER_KIND.finding(
            Place(part.name),
            f"`{part.name}` would not come back to the bit from row {row:,} on: it holds -0.0.",
            fixes=(Fix("Make zeros of them where they are stored:  rows + 0.0"),),
        )
    )


def _continuous(shards: Shards) -> Finding:
    return OTHER_KIND.finding(
        Place(str(shards.folder)),
        f"`{shards.folder}` holds continuous rows; only zeros and ones can be packed.",
        facts=(Fact("declared", str(shards.layout)),),
        why="Ids and bits keep where a 1 is, and nothing else.",
        fixes=(Fix("Keep these rows as they are; float16 halves them, where that is enough."),),
    )


def _is_packed(shards: Shards) -> Finding:
    return OTHER_KIND.finding(
        Place(str(shards.folder)),
        f"`{shards.folder}` is packed already, as {shards.form}.",
        fixes=(Fix("Use it as it is."),),
    )
