"""The columns of a place are those that the terminal marks."""

from pathlib import Path

import pytest

from surefit.doctor.findings import Finding, Place, Severity
from surefit.render.marks import with_columns

LINES = ["import torch", "x = odd(1, (2, 3))  # ü", "y = [", "\t1,", "]  "]


def read(_file: str, first: int, last: int) -> list[str]:
    return LINES[first - 1 : last]


def columns(headline: str, place: Place) -> tuple[int | None, int | None]:
    finding = Finding("odd-call", "SF998", Severity.ERROR, place, headline)
    changed = with_columns(finding, read).place
    assert changed == place  # the same place: columns only tell more of it
    return changed.column, changed.end_column


@pytest.mark.parametrize(
    ("headline", "place", "expected"),
    [
        ("`odd` is called.", Place("a.py", 2), (5, 19)),
        ("Nothing is named.", Place("a.py", 1), (1, 13)),
        ("`y` spans lines.", Place("a.py", 3, 5), (1, 2)),
        ("`odd` is called.", Place("a.py", 2, column=9, end_column=10), (9, 10)),
        ("`odd` is in data.", Place("a.jsonl", 2), (None, None)),
        ("`odd` is nowhere.", Place("a.py", 9), (None, None)),
        ("`odd` has no line.", Place("a.py"), (None, None)),
    ],
)
def test_columns(headline: str, place: Place, expected: tuple[int | None, int | None]) -> None:
    assert columns(headline, place) == expected


def test_a_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("  odd()\n")
    place = Place(str(tmp_path / "a.py"), 1)
    finding = Finding("odd-call", "SF998", Severity.ERROR, place, "`odd` is called.")
    assert with_columns(finding).place.column == 3
