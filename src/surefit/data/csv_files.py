"""Raw rows of CSV and TSV files, each with the line on which it begins."""

import codecs
import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from io import BufferedReader
from pathlib import Path

from surefit.doctor.findings import Fact, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput
from surefit.user_files import bounded_lines, open_plain

from .bad_rows import BadRow, shown
from .encoding import decoded, refuse_other_marks
from .raw import RawRow, RawRows

INVALID_CSV = refusal(
    "SF109",
    "invalid-csv",
    "A cell that contains a quote, a separator or a line break must be quoted, and quotes in it "
    "doubled.",
)
REPEATED_COLUMN = refusal(
    "SF110", "repeated-column", "Columns are identified by their names in the header."
)
RAGGED_CELLS = refusal(
    "SF111", "ragged-cells", "Every row has as many cells as the header has columns."
)

LONGEST_CELL = 2**31 - 1
"""In characters; Python's own limit of 131072 is less than a long document."""


def read_csv(path: Path, name: str, separator: str = ",") -> RawRows:
    """Blank lines are passed over; a row with quoted new lines is placed where it begins."""
    csv.field_size_limit(LONGEST_CELL)
    with open_plain(path) as file:
        numbered = _numbered(_lines(file, name), separator, name)
        _, header = next(numbered, (1, []))
        _refuse_repeated(header, name)
        for line, cells in numbered:
            yield _row(header, cells, Place(name, line=line))


def _lines(file: BufferedReader, name: str) -> Iterator[str]:
    offset = 0
    for number, line in enumerate(bounded_lines(file), start=1):
        if number == 1:
            refuse_other_marks(line, name)
        text = decoded(
            line.removeprefix(codecs.BOM_UTF8) if number == 1 else line,
            Place(name, line=number),
            offset,
        )
        if isinstance(text, BadRow):
            raise BadInput(text.finding())
        yield text
        offset += len(line)


def _numbered(lines: Iterator[str], separator: str, name: str) -> Iterator[tuple[int, list[str]]]:
    """Rows that are not blank, with the line on which each begins."""
    reader = csv.reader(lines, delimiter=separator, strict=True)
    line = 1
    try:
        for cells in reader:
            if cells:
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        raise BadInput(_invalid(error, Place(name, line=line)).finding()) from None


def _row(header: Sequence[str], cells: Sequence[str], place: Place) -> RawRow | BadRow:
    if len(cells) == len(header):
        return RawRow(place, dict(zip(header, cells, strict=True)))
    return BadRow(
        place,
        RAGGED_CELLS,
        "The number of cells is not that of the header",
        facts=(
            Fact("header", f"{len(header)} columns: {', '.join(header)}"),
            Fact("cells", f"{len(cells)}, the last of them: {shown(cells[-1])}"),
        ),
        why="A cell that contains the separator must be quoted."
        if len(cells) > len(header)
        else "",
    )


def _refuse_repeated(header: Sequence[str], name: str) -> None:
    times = Counter(header)
    repeated = next((column for column, count in times.items() if count > 1), None)
    if repeated is not None:
        raise BadInput(
            REPEATED_COLUMN.finding(
                Place(name, line=1),
                f"The header names the column `{repeated}` {times[repeated]} times.",
                facts=(Fact("header", ", ".join(header)),),
                fixes=(Fix("Give each column a unique name."),),
            )
        )


def _invalid(error: csv.Error, place: Place) -> BadRow:
    return BadRow(
        place,
        INVALID_CSV,
        "The CSV is invalid in the row that begins",
        why="A quote opens a cell and is not closed as the format asks.",
        fixes=(Fix("Put cells that hold quotes in quotes, and double the quotes inside."),),
        python_said=str(error),
    )
