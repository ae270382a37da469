"""Findings as one line each: for workflows on GitHub, and as compilers write them."""

from surefit.doctor.findings import Finding, Place, Severity

from .visible import visible

GITHUB = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def github(finding: Finding) -> str:
    """A command of a workflow; https://docs.github.com/actions has its form."""
    place = finding.place
    values: dict[str, object] = {"file": place.file}
    if place.cell is None:  # lines of a cell are not lines of the file
        values |= {"line": place.line, "endLine": place.end_line or place.line}
        if place.end_line in (None, place.line) and place.end_column is not None:
            values |= {"col": place.column, "endColumn": max(place.end_column - 1, 1)}
    values["title"] = f"{finding.rule} ({finding.code})"
    shown = ",".join(f"{name}={in_value(str(it))}" for name, it in values.items() if it is not None)
    return f"::{GITHUB[finding.severity]} {shown}::{in_message(message(finding))}"


def message(finding: Finding) -> str:
    """Headline, reason and the first fix; in a notebook the cell first."""
    where = "" if finding.place.cell is None else f"{finding.place}: "
    fixes = [f"Fix: {fix.text}" for fix in finding.fixes[:1]]
    return "\n".join(filter(None, [where + finding.headline, finding.why, *fixes]))


def in_message(text: str) -> str:
    return visible(text, keep="\n").replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def in_value(text: str) -> str:
    return in_message(text).replace(":", "%3A").replace(",", "%2C")


def gcc(finding: Finding) -> str:
    """`file:line:column: severity: headline [rule]`, on one line however it was written."""
    headline = " ".join(finding.headline.split())
    return visible(f"{position(finding.place)}: {finding.severity}: {headline} [{finding.rule}]")


def position(place: Place) -> str:
    cell = None if place.cell is None else f"cell {place.cell}"
    parts = (place.file, cell, place.line, place.column if place.line is not None else None)
    return ":".join(str(part) for part in parts if part is not None)
