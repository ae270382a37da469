"""Findings as SARIF 2.1.0, which code scanning and editors read."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

import msgspec

from surefit import __version__
from surefit.doctor.findings import Finding, Fix, Place, Severity
from surefit.doctor.pages import explanation
from surefit.source.patches import Edit, Replace

from .annotations import message
from .json_document import Json, encodable

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}


def document(findings: Sequence[Finding], faults: Sequence[str]) -> str:
    """One run; `faults` are rules that failed themselves."""
    rules = {finding.code: finding for finding in findings}
    numbers = {code: number for number, code in enumerate(sorted(rules))}
    run: Json = {
        "tool": {
            "driver": {
                "name": "surefit",
                "version": __version__,
                "rules": [rule(rules[code]) for code in numbers],
            }
        },
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                "executionSuccessful": not faults,
                "toolExecutionNotifications": [
                    {"level": "error", "message": {"text": fault}} for fault in faults
                ],
            }
        ],
        "results": [result(finding, numbers[finding.code]) for finding in findings],
    }
    whole: Json = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return msgspec.json.format(msgspec.json.encode(encodable(whole)), indent=2).decode() + "\n"


def rule(finding: Finding) -> Json:
    about = explanation(finding.rule)
    found: dict[str, Json] = {"id": finding.code, "name": finding.rule}
    if about:
        first, _, rest = about.partition("\n\n")
        summary = " ".join(first.split())
        found["shortDescription"] = {"text": summary}
        if rest:
            found["help"] = {"text": plain(rest), "markdown": rest}
    return found


def plain(markdown: str) -> str:
    return re.sub(r"^#+ ", "", markdown, flags=re.MULTILINE)


def result(finding: Finding, number: int) -> Json:
    found: dict[str, Json] = {
        "ruleId": finding.code,
        "ruleIndex": number,
        "level": LEVELS[finding.severity],
        "message": {"text": message(finding)},
        "locations": [location(finding.place)],
    }
    edits = [fix for fix in finding.fixes if fix.edit is not None and fix.patch is not None]
    if edits and finding.place.cell is None:
        found["fixes"] = [as_fix(fix) for fix in edits]
    return found


def location(place: Place) -> Json:
    physical: dict[str, Json] = {"artifactLocation": artifact(place.file)}
    if place.cell is not None:
        cell: Json = [{"name": f"cell {place.cell}", "kind": "module"}]
        return {"physicalLocation": physical, "logicalLocations": cell}
    if place.line is not None:
        physical["region"] = dict(region(place))
    return {"physicalLocation": physical}


def region(place: Place) -> Iterator[tuple[str, int]]:
    names = ("startLine", "startColumn", "endLine", "endColumn")
    last = place.end_line or place.line
    for name, number in zip(names, (place.line, place.column, last, place.end_column), strict=True):
        if number is not None:
            yield name, number


def artifact(file: str) -> Json:
    """Below the current folder by its relative name, so that a repository knows it."""
    path = Path(file)
    return {"uri": path.as_uri() if path.is_absolute() else quote(path.as_posix())}


def as_fix(fix: Fix) -> Json:
    assert fix.edit is not None
    return {"description": {"text": fix.text}, "artifactChanges": [change(fix.edit)]}


def change(edit: Edit) -> Json:
    replacements = [replacement(part) for part in edit.changes]
    return {"artifactLocation": artifact(edit.file), "replacements": replacements}


def replacement(part: Replace) -> Json:
    span = part.span
    return {
        "deletedRegion": {
            "startLine": span.line,
            "startColumn": span.column + 1,
            "endLine": span.end_line,
            "endColumn": span.end_column + 1,
        },
        "insertedContent": {"text": part.text},
    }
