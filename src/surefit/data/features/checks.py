"""One header against the declared layout: rows, dtype, byte order, order of axes."""

from collections.abc import Iterator
from math import ceil
from pathlib import Path
from shlex import quote

import numpy as np

from surefit.doctor.findings import Fact, Finding, Fix, Place
from surefit.doctor.rule import refusal

from .headers import Header
from .layout import USUAL_DTYPE, Layout
from .shards import Form

NO_ROWS = refusal(
    "SF035",
    "shard-without-rows",
    "A file of arrays holds no row: what wrote it stopped early, or it does not belong here.",
)
OTHER_SHAPE = refusal(
    "SF037", "rows-of-other-shape", "The rows of a file have another shape than was declared."
)
OTHER_DTYPE = refusal(
    "SF038",
    "array-of-other-dtype",
    "The numbers of a file are of another type than was declared, or of another byte order.",
)
OTHER_ORDER = refusal(
    "SF039",
    "array-in-fortran-order",
    "The values of a row are not contiguous, so rows cannot be read in place.",
)


def check_header(header: Header, layout: Layout, form: Form, data: Path) -> Iterator[Finding]:
    """What is wrong with it beside its shape; `data` is as the user named it."""
    if not header.rows:
        yield no_rows(header)
        return
    if form is not Form.PLAIN:
        yield from _check_packed(header, layout, form)
        return
    yield from check_dtype(header, layout, data)
    if header.shape[1:] == layout.shape and header.fortran:
        yield other_order(header, layout, data)


def no_rows(header: Header) -> Finding:
    return NO_ROWS.finding(
        Place(header.name),
        f"`{header.name}` holds no row.",
        facts=(Fact("its shape", shown(header.shape)),),
        why="A program that stops early leaves such a file: rows that should be there would be"
        " missed without a word.",
        fixes=(
            Fix("If its rows were lost, write the file again."),
            Fix("If there were none, take the file out of the folder."),
        ),
    )


def check_dtype(header: Header, layout: Layout, data: Path) -> Iterator[Finding]:
    if header.dtype.name != layout.dtype:
        yield OTHER_DTYPE.finding(
            Place(header.name),
            f"`{header.name}` holds {header.dtype.name}, and {layout.dtype} is declared.",
            facts=(
                Fact("declared", str(layout)),
                Fact("in the file", f"{shown(header.shape)} {header.dtype.name}"),
            ),
            why="Numbers are not converted as they are read: that would double the work of every"
            " epoch and hide where another program wrote them.",
            fixes=(
                Fix(f"If all are meant to be so, declare it:  --dtype {header.dtype.name}"),
                _mend(layout, data, f"every value is kept, or it is refused:  {layout.dtype}"),
            ),
        )
    elif header.swapped_bytes:
        yield OTHER_DTYPE.finding(
            Place(header.name),
            f"`{header.name}` holds big-endian numbers (`{header.dtype.str}`).",
            why="Read as they are they would be other numbers; this machine's are little-endian.",
            fixes=(_mend(layout, data, "the same numbers in this machine's order"),),
        )


def other_order(header: Header, layout: Layout, data: Path) -> Finding:
    return OTHER_ORDER.finding(
        Place(header.name),
        f"`{header.name}` is stored in Fortran order: the values of a row are not contiguous.",
        facts=(
            Fact("one row", f"{layout.row_values:,} reads of {header.dtype.itemsize} bytes"),
            Fact("in C order", f"one read of {header.row_bytes:,} bytes"),
        ),
        fixes=(_mend(layout, data, "the same numbers, row after row"),),
    )


def sizes_as_flags(header: Header) -> str:
    """What declares rows to be as an array of three axes stores them."""
    dtype = "" if header.dtype.name == USUAL_DTYPE else f" --dtype {header.dtype.name}"
    return f"--steps {header.shape[1]} --features {header.shape[2]}{dtype}"


def inspect_command(layout: Layout, data: Path) -> str:
    more = "" if layout.dtype == USUAL_DTYPE else f" --dtype {layout.dtype}"
    kind = f" --kind {layout.kind}" if layout.kind else ""
    sizes = f"--steps {layout.steps} --features {layout.features}"
    return f"surefit inspect {quote(str(data))} {sizes}{more}{kind}"


def shown(shape: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, shape))}]"


def _mend(layout: Layout, data: Path, what: str) -> Fix:
    return Fix(f"Rewrite it ({what}):  {inspect_command(layout, data)} --mend-to OUT")


def _check_packed(header: Header, layout: Layout, form: Form) -> Iterator[Finding]:
    """Ids are whole numbers, one for each step; bits fill whole bytes of a row."""
    ids = form is Form.IDS
    width = layout.steps if ids else ceil(layout.row_values / 8)
    right = header.dtype.kind in "iu" if ids else header.dtype == np.uint8
    if header.shape[1:] != (width,) or not right or header.offset is None or header.swapped_bytes:
        wanted = f"[rows, {width}] {'of whole numbers' if ids else 'uint8'}"
        yield OTHER_SHAPE.finding(
            Place(header.name),
            f"`{header.name}` is {shown(header.shape)} {header.dtype.name}; rows that are packed"
            f" as {form} are {wanted}.",
            fixes=(Fix("Pack the folder again, from the rows that it was made of."),),
        )
    elif header.fortran:
        yield OTHER_ORDER.finding(
            Place(header.name), f"`{header.name}` is packed, and in Fortran order."
        )
