"""The cell that a fix is about, as it is written in the notebook, with the fix in it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from surefit.doctor.findings import Finding, Fix
from surefit.source.kernel import KernelCell, cells
from surefit.source.patches import patched


@dataclass(frozen=True, slots=True)
class MendedCell:
    """Of a cell by its number, the text to run in its place."""

    number: int
    text: str


def mended_cell(findings: Iterable[Finding], written: Sequence[str]) -> MendedCell | None:
    """By the first fix that changes a cell; those that are the user's choice come last. `written`
    has the cells by number, as they were typed."""
    by_file = {cell.file: cell for cell in cells()}
    fixes = [fix for finding in findings for fix in finding.fixes if fix.patch is not None]
    for fix in sorted(fixes, key=lambda fix: fix.choice):
        cell = by_file.get(fix.edit.file) if fix.edit is not None else None
        if cell is not None and cell.number < len(written):
            text = with_fix(fix, cell, written[cell.number])
            if text is not None:
                return MendedCell(cell.number, text)
    return None


def with_fix(fix: Fix, cell: KernelCell, written: str) -> str | None:
    """Magics stand again as they were typed; None where they were more or fewer lines."""
    assert fix.edit is not None
    first, before = split_magic(written, cell.text)
    after = patched(fix.edit, cell.text)
    ran, typed, mended = (text.strip("\n").split("\n") for text in (cell.text, before, after))
    if len(ran) != len(typed):
        return None
    magics = {run: line for run, line in zip(ran, typed, strict=True) if run != line}
    return "\n".join([*first, *(magics.get(line, line) for line in mended)])


def split_magic(written: str, ran: str) -> tuple[list[str], str]:
    """The `%%surefit` above a cell, which ran as an empty line, and the cell."""
    magic, _, rest = written.partition("\n")
    return ([magic], rest) if ran.startswith("\n") and magic.startswith("%%") else ([], written)
