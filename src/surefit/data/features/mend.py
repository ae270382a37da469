"""Writes shards anew as they were declared, where what they are is certain."""

import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO

import numpy as np
from numpy.lib import format as npy

from surefit.doctor.findings import Fact, Finding, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput, WrongCall, refuse_if
from surefit.writing import new_folder

from .decode import Values
from .files import read_headers
from .folder import Shards, read_shards
from .headers import Header
from .layout import Layout
from .probe import probe
from .readings import Reading, open_values, read_rows
from .row_checks import check_rows
from .scenarios import Verdict, judge
from .verdicts import findings
from .write_layout import write_layout

NOT_MENDED = refusal("SF044", "not-mended", "Shards are rewritten only if their layout is certain.")
BLOCK_BYTES = 32_000_000
"""So much is held of a file at a time."""

Progress = Callable[[int], None]


def refuse_in_use(out: Path) -> None:
    """A folder that holds something is never written into."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise WrongCall(
            NOT_MENDED.finding(
                Place(str(out)),
                f"`{out}` is there already.",
                why="Rewritten rows go to a new folder; nothing is overwritten.",
                fixes=(Fix("Give the name of a folder that does not exist yet."),),
            )
        )


def mend(
    data: Path,
    out: Path,
    layout: Layout,
    chosen: str | None = None,
    progress: Progress = lambda _: None,
) -> Shards:
    """Reads every row once, writes it, reads it back; the originals are only read."""
    refuse_in_use(out)
    files = read_headers(data)
    verdicts = [judge(header, layout, chosen) for header in files.headers if header.rows]
    refuse_if((*files.faults, *_uncertain(verdicts, layout, data, chosen)))
    with new_folder(out, "call it again") as side:
        for name, parts in _by_file(verdicts).items():
            _write(side / name, parts, layout, progress)
        write_layout(read_shards(side, layout))
    return read_shards(out, layout)


def _uncertain(
    verdicts: Sequence[Verdict], layout: Layout, data: Path, chosen: str | None
) -> Iterator[Finding]:
    yield from findings((one for one in verdicts if one.reading is None), layout, data)
    for one in verdicts:
        yield from one.faults
        if chosen and one.reading and one.reading.word not in (chosen, "declared"):
            yield NOT_MENDED.finding(
                Place(one.header.name),
                f"`{one.header.name}` is not `{chosen}`: {one.reading.says}.",
                facts=one.facts,
                ruled_out=one.ruled_out,
                fixes=(Fix(f"Leave `--as {chosen}` out."),),
            )


def _by_file(verdicts: Sequence[Verdict]) -> dict[str, list[Verdict]]:
    """Named like the files they come from; parts of one file stay together."""
    found: dict[str, list[Verdict]] = {}
    for one in verdicts:
        stem = Path(one.header.name).stem
        same = {other.header.name for other in verdicts if Path(other.header.name).stem == stem}
        name = stem if len(same) == 1 else one.header.name
        found.setdefault(f"{name}.npy", []).append(one)
    return found


def _write(path: Path, parts: Sequence[Verdict], layout: Layout, progress: Progress) -> None:
    """Parts one behind the other, then all of it read back."""
    rows = sum(one.reading.rows for one in parts if one.reading)
    found = 0
    with path.open("wb") as file:
        npy.write_array_header_1_0(file, npy_description(layout.dtype, (rows, *layout.shape)))
        begin = file.tell()
        for one in parts:
            for block in blocks(one, layout, progress):
                found = put(file, block, found)
    refuse_unequal(path, begin, found)


def npy_description(dtype: str, shape: tuple[int, ...]) -> dict[str, object]:
    descr = npy.dtype_to_descr(np.dtype(dtype))
    return {"descr": descr, "fortran_order": False, "shape": shape}


def put(file: IO[bytes], block: Values, before: int) -> int:
    """Writes a block; gives the checksum of all that was written so far."""
    raw = np.ascontiguousarray(block).reshape(-1).view(np.uint8).data
    file.write(raw)
    return zlib.crc32(raw, before)


def blocks(verdict: Verdict, layout: Layout, progress: Progress) -> Iterator[Values]:
    """All rows of a file in the declared dtype, a block at a time; refuses rows that are wrong."""
    header, how = verdict.header, verdict.reading
    assert how is not None
    each = max(1, BLOCK_BYTES // max(1, how.row_values * header.dtype.itemsize))
    with open_values(header) as values:
        for first in range(0, how.rows, each):
            last = min(first + each, how.rows)
            rows = np.ascontiguousarray(read_rows(values, how, first, last))
            found = probe(rows)
            refuse_if(check_rows(header.name, range(first, last), rows, found, layout.kind))
            if verdict.by_values and how.word != "declared" and "features" not in found.sums_to_one:
                raise BadInput(_not_like_the_sample(header, how, first, last))
            yield _as_dtype(header, rows, first, layout.dtype)
            progress(last - first)


def _not_like_the_sample(header: Header, how: Reading, first: int, last: int) -> Finding:
    return NOT_MENDED.finding(
        Place(header.name),
        f"`{header.name}` is not {how.says} throughout: rows {first:,} to {last - 1:,} (from 0)"
        " hold steps that do not sum to 1 so.",
        why="Sums to one decided how it is read, in a sample; in all rows they do not hold.",
        fixes=(Fix("Check how the file is written: its parts are stored in different layouts."),),
    )


def _as_dtype(header: Header, rows: Values, first: int, dtype: str) -> Values:
    """Refuses a value that would become another one."""
    if rows.dtype == dtype:
        return rows
    with np.errstate(all="ignore"):
        made = rows.astype(dtype)
        changed = np.argwhere(made.astype(rows.dtype) != rows)
    if not len(changed):
        return made
    row, step, feature = changed[0].tolist()
    raise BadInput(
        NOT_MENDED.finding(
            Place(header.name),
            f"`{header.name}` holds {rows.dtype} values that {dtype} cannot hold.",
            facts=(
                Fact(
                    f"row {first + row:,}, step {step}, feature {feature}",
                    f"{rows[row, step, feature]!r} would become {made[row, step, feature]!r}",
                ),
                Fact("such values", f"{len(changed):,} of {rows.size:,} up to there"),
            ),
            fixes=(
                Fix(f"Keep them as they are, and declare it:  --dtype {rows.dtype}"),
                Fix(f"Or round them in your own code, where that is meant:  x.astype('{dtype}')"),
            ),
        )
    )


def refuse_unequal(path: Path, begin: int, wanted: int) -> None:
    """Reads a file back from the disk's side of things, and holds it against what was written."""
    found = 0
    with path.open("rb") as file:
        file.seek(begin)
        while part := file.read(1 << 20):
            found = zlib.crc32(part, found)
    if found != wanted:
        said = f"`{path.name}` was not read back as it was written: the disk or memory fails."
        raise BadInput(NOT_MENDED.finding(Place(path.name), said))
