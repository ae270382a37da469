"""An open file: its text, what was found in it, and both in the protocol's terms."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from surefit.doctor.findings import Finding, Fix, Place, Severity
from surefit.doctor.pages import explanation
from surefit.source.patches import Replace
from surefit.source.reading import lines_of

SEVERITIES = {Severity.ERROR: 1, Severity.WARNING: 2, Severity.NOTE: 3}
QUICK_FIX = "quickfix"
LONGEST_TITLE = 100

Json = dict[str, Any]


@dataclass(slots=True)
class OpenScript:
    """Lines count from 0 in the protocol, and columns in units of UTF-16."""

    uri: str
    text: str
    version: int | None = None
    findings: tuple[Finding, ...] = ()
    checked: str | None = None
    """The text that the findings are about."""

    @property
    def path(self) -> Path:
        return Path(unquote(urlsplit(self.uri).path))

    @property
    def is_current(self) -> bool:
        return self.checked == self.text

    @property
    def lines(self) -> list[str]:
        return [line.rstrip("\r\n") for line in lines_of(self.text)]

    def diagnostics(self) -> list[Json]:
        return [self.diagnostic(finding) for finding in self.findings]

    def diagnostic(self, finding: Finding) -> Json:
        return {
            "range": self.range_of(finding.place),
            "severity": SEVERITIES[finding.severity],
            "code": finding.rule,
            "source": "surefit",
            "message": "\n".join(filter(None, [finding.headline, finding.why])),
        }

    def range_of(self, place: Place) -> Json:
        """Its columns; without them whole lines."""
        first = place.line or 1
        last = place.end_line or first
        end = len(self.line(last)) + 1 if place.end_column is None else place.end_column
        return self.range(first, (place.column or 1) - 1, last, end - 1)

    def range(self, line: int, column: int, end_line: int, end_column: int) -> Json:
        """Lines from 1, columns in characters from 0."""
        return {"start": self.position(line, column), "end": self.position(end_line, end_column)}

    def position(self, line: int, column: int) -> Json:
        before = self.line(line)[:column]
        return {
            "line": line - 1,
            "character": len(before.encode("utf-16-le", "surrogatepass")) // 2,
        }

    def line(self, number: int) -> str:
        lines = self.lines
        return lines[number - 1] if 0 < number <= len(lines) else ""

    def hover(self, position: Json) -> Json | None:
        """What the rules at a position say of themselves."""
        here = {"start": position, "end": position}
        findings = [finding for finding in self.findings if self.touches(finding, here)]
        if not findings:
            return None
        pages = [
            f"**{finding.rule}** `{finding.code}`\n\n{explanation(finding.rule)}".strip()
            for finding in findings
        ]
        return {
            "contents": {"kind": "markdown", "value": "\n\n---\n\n".join(pages)},
            "range": self.range_of(findings[0].place),
        }

    def touches(self, finding: Finding, other: Json) -> bool:
        own = self.range_of(finding.place)
        return order(own["start"]) <= order(other["end"]) and order(other["start"]) <= order(
            own["end"]
        )

    def quick_fixes(self, wanted: Json) -> Iterator[Json]:
        """Of every finding that touches a range; of a text that changed meanwhile none."""
        if not self.is_current:
            return
        for finding in self.findings:
            if self.touches(finding, wanted):
                fixes = [fix for fix in finding.fixes if fix.edit is not None and fix.patch]
                for number, fix in enumerate(fixes):
                    yield self.quick_fix(finding, fix, number == 0 and not fix.choice)

    def quick_fix(self, finding: Finding, fix: Fix, preferred: bool) -> Json:
        assert fix.edit is not None
        title = " ".join(fix.text.split())
        return {
            "title": title if len(title) <= LONGEST_TITLE else title[: LONGEST_TITLE - 1] + "…",
            "kind": QUICK_FIX,
            "diagnostics": [self.diagnostic(finding)],
            "isPreferred": preferred,
            "edit": {"changes": {self.uri: [self.text_edit(part) for part in fix.edit.changes]}},
        }

    def text_edit(self, part: Replace) -> Json:
        span = part.span
        where = self.range(span.line, span.column, span.end_line, span.end_column)
        return {"range": where, "newText": part.text}


def order(position: Json) -> tuple[int, int]:
    return position["line"], position["character"]
