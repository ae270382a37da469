"""Findings as one line each."""

from surefit.doctor.findings import Finding, Place, Severity
from surefit.render.brief import line


def test_one_line_however_the_headline_was_written() -> None:
    found = Finding(
        "a-fault", "SF900", Severity.NOTE, Place("a b.py", 3), "It\nfails \x1b[31m  here."
    )
    assert line(found) == "a b.py:3: note a-fault: It fails \\x1b[31m here."


def test_places_without_lines() -> None:
    for place, shown in [(Place("a.parquet", row=2), "a.parquet, row 2"), (Place("run"), "run")]:
        found = Finding("a-fault", "SF900", Severity.ERROR, place, "It fails.")
        assert line(found) == f"{shown}: error a-fault: It fails."
