"""Comments with which a user allows what a rule would report: `# surefit: allow[rule-name]`."""

import ast
import re
from collections.abc import Collection, Iterator

from surefit.did_you_mean import nearest
from surefit.doctor.catalogue import Known
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.source.line_edits import first_line
from surefit.source.reading import Source

UNKNOWN_ALLOWANCE = Rule(
    "SF016",
    "unknown-allowance",
    Severity.NOTE,
    "A comment that allows a rule names one that surefit does not have, so it allows nothing.",
)

ALLOWANCE = re.compile(r"#\s*surefit:\s*allow\s*\[([^\]]*)\]")


def allowed(finding: Finding, seen: Recording) -> bool:
    """A comment on the lines of the place, or alone on those just above, names the rule."""
    source = seen.source(finding.place)
    if source is None or finding.place.line is None or "surefit:" not in source.text:
        return False
    lines = {*lines_of_place(source, finding.place)}
    lines |= {*comment_lines_above(source, min(lines))}
    return any(finding.rule in names_in(source.comments.get(line, "")) for line in lines)


def names_in(comment: str) -> list[str]:
    return [
        name.strip()
        for names in ALLOWANCE.findall(comment)
        for name in names.split(",")
        if name.strip()
    ]


def lines_of_place(source: Source, place: Place) -> range:
    """All lines of a statement without a block; of one with a block, those before it."""
    first = place.line or 1
    last = max(place.end_line or first, first)
    statement = source.statement_at(first)
    if statement is None:
        return range(first, last + 1)
    begin, end = first_line(statement), last_line_before_block(statement)
    return range(begin, end + 1) if begin <= first <= end else range(first, last + 1)


def last_line_before_block(statement: ast.stmt) -> int:
    if isinstance(statement, ast.Match):
        return statement.subject.end_lineno or statement.lineno
    body = getattr(statement, "body", ())
    last = first_line(body[0]) - 1 if body else statement.end_lineno
    return max(statement.lineno, last or statement.lineno)


def comment_lines_above(source: Source, line: int) -> Iterator[int]:
    """Lines with nothing but a comment, without a gap."""
    above = line - 1
    while above in source.comments and source.lines[above - 1].lstrip().startswith("#"):
        yield above
        above -= 1


def unknown_allowances(seen: Recording, known: Collection[Known]) -> Iterator[Finding]:
    """Comments that allow a rule there is not."""
    names = {rule.name for rule in known}
    for script in seen.all(Script):
        source = seen.source(script.file) if "surefit:" in script.text else None
        for line, comment in source.comments.items() if source else ():
            for name in names_in(comment):
                if name not in names:
                    yield unknown(name, Place(script.file, line), known)


def unknown(name: str, place: Place, known: Collection[Known]) -> Finding:
    by_code = {rule.code: rule.name for rule in known}
    meant = by_code.get(name.upper()) or nearest(name, by_code.values())
    return UNKNOWN_ALLOWANCE.finding(
        place,
        f"`{name}` is not the name of a rule, so this comment allows nothing.",
        facts=() if meant else (Fact("rules", ", ".join(sorted(by_code.values()))),),
        fixes=(
            Fix(
                f"Write `# surefit: allow[{meant}]`, the nearest name.",
                why_not_tried="a comment changes nothing that runs",
            ),
        )
        if meant
        else (),
        about=f"{place} {name}",
    )
