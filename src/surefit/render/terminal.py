"""Findings as text for people: 80 columns, readable without colour."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from surefit.doctor.findings import Fact, Finding, Fix, Severity

from .marks import ReadSource, is_code, marked, named_in, place_lines, read_source
from .visible import in_part, shorten, shorten_left, visible, wrap

WIDTH = 80
NARROWEST = 40
LABEL = 13
"""Where values begin: two spaces, the longest label, two spaces."""
LONGEST_NAME = 28
MOST_SOURCE_LINES = 4
MOST_PYTHON_LINES = 4
YOUR_CHOICE = "Your choice: "

COLOURS = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.NOTE: "bold cyan"}


@dataclass(frozen=True, slots=True)
class Line:
    """A printed line in parts, each with its style."""

    parts: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return "".join(text for text, _ in self.parts).rstrip()


def line(*parts: str | tuple[str, str]) -> Line:
    return Line(tuple((part, "") if isinstance(part, str) else part for part in parts))


def text(
    findings: Sequence[Finding], width: int = WIDTH, read_source: ReadSource = read_source
) -> str:
    """All findings, a blank line between them, each line at most `width` cells wide."""
    blocks = (lines(finding, width, read_source) for finding in findings)
    return "\n\n".join("\n".join(str(one) for one in block) for block in blocks)


def show(
    findings: Sequence[Finding], console: Console, read_source: ReadSource = read_source
) -> None:
    """The same on a console, in colour where it has colours."""
    width = max(NARROWEST, min(WIDTH, console.width)) if console.is_terminal else WIDTH
    for finding in findings:
        for one in lines(finding, width, read_source):
            console.print(Text.assemble(*one.parts), soft_wrap=True)
        console.print()


def lines(finding: Finding, width: int, read_source: ReadSource) -> Iterator[Line]:
    yield from header(finding, width)
    yield from source(finding, width, read_source)
    yield from facts(finding, width)
    yield from labelled("why", finding.why, width)
    yield from fixes(finding.fixes, width)
    yield from python_said(finding.python_said, width)


def header(finding: Finding, width: int) -> Iterator[Line]:
    """One line of exactly `width`, then the headline; a place cut short is told in full below."""
    end = f" ── {visible(finding.code)}"
    most = width - cell_len(f"── {finding.severity}:  ── …{end}")
    begin = f"{finding.severity}: {shorten(visible(finding.rule), most)} "
    place = visible(in_part(str(finding.place)))
    room = width - cell_len(f"── {begin}── {end}")
    shown = shorten_left(place, room)
    dashes = "─" * (room - cell_len(shown) + len("──"))
    yield line(
        ("── ", "dim"),
        (begin, COLOURS[finding.severity]),
        (dashes, "dim"),
        (f" {shown}", "bold"),
        (end, "dim"),
    )
    for part in wrap(in_part(finding.headline), width):
        yield line((part, "bold"))
    if shown != place:
        yield from labelled("where", place, width)


def source(finding: Finding, width: int, read_source: ReadSource) -> Iterator[Line]:
    """The lines of the place, and a mark under what the headline names in a single one."""
    first = finding.place.line
    if first is None or first < 1:
        return
    last = min(max(finding.place.end_line or first, first), first + MOST_SOURCE_LINES - 1)
    code = is_code(finding.place)
    raw = place_lines(finding.place, first, last, read_source)
    found = [as_source(one, code) for one in raw]
    if not any(found):
        return
    named = named_in(finding.headline)
    for number, whole in enumerate(found, start=first):
        mark = marked(whole, named, code) if len(found) == 1 else None
        shown, mark = around(whole, mark, width - 8)
        yield line((f"{number:>5} │ "[-8:], "dim"), shown)
        if mark:
            begin, end = mark
            under = "^" * cell_len(shown[begin:end])
            yield line(("      │ ", "dim"), " " * cell_len(shown[:begin]), (under, "red"))


def as_source(raw: str, is_code: bool) -> str:
    return visible(raw.replace("\t", "    ") if is_code else raw).rstrip()


def around(
    whole: str, mark: tuple[int, int] | None, width: int
) -> tuple[str, tuple[int, int] | None]:
    """A line cut to the width so that the mark is seen, and the mark where it is then."""
    if cell_len(whole) <= width:
        return whole, mark
    begin, end = mark or (0, 0)
    if cell_len(whole[:end]) < width:
        return shorten(whole, width), mark
    from_here = max(0, begin - 30)
    shown = shorten(("…" if from_here else "") + whole[from_here:], width)
    shift = from_here - (1 if from_here else 0)
    return shown, (begin - shift, min(end - shift, len(shown)))


def facts(finding: Finding, width: int) -> Iterator[Line]:
    """`seen` and `ruled out`, with their names in one column."""
    rows = [("seen", fact) for fact in finding.facts]
    rows += [("ruled out", fact) for fact in finding.ruled_out]
    most = min(LONGEST_NAME, (width - LABEL) // 2)
    sizes = [cell_len(visible(in_part(fact.name))) for _, fact in rows]
    column = max((size for size in sizes if size <= most), default=0)
    for label, fact in rows:
        yield from fact_lines(label, fact, column, width)


def fact_lines(label: str, fact: Fact, column: int, width: int) -> Iterator[Line]:
    """A name too long for its column gets lines of its own."""
    name = visible(in_part(fact.name).replace("\n", " "))
    indent = LABEL + column + 2 if column else LABEL
    values = wrap(in_part(fact.value), width - indent)
    if cell_len(name) > column:
        yield from labelled(label, name, width)
        rest = values
    else:
        filled = name + " " * (column - cell_len(name)) + "  " if column else ""
        yield line(label_of(label), filled, values[0])
        rest = values[1:]
    for value in rest:
        yield line(" " * indent, value)


def label_of(label: str) -> tuple[str, str]:
    return f"  {label}".ljust(LABEL), "dim"


def labelled(label: str, said: str, width: int) -> Iterator[Line]:
    if not said:
        return
    first, *rest = wrap(in_part(said), width - LABEL)
    yield line(label_of(label), first)
    for one in rest:
        yield line(" " * LABEL, one)


def fixes(all_fixes: Sequence[Fix], width: int) -> Iterator[Line]:
    """Each with its diff; a proof that several share stands after the last of them."""
    for fix, after in zip_longest(all_fixes, all_fixes[1:]):
        yield from labelled("fix", f"{YOUR_CHOICE}{fix.text}" if fix.choice else fix.text, width)
        if fix.shown or fix.patch:
            yield from diff(fix.shown or fix.patch or "", width)
        if fix.proof and not (after and after.proof == fix.proof):
            yield from labelled("proof", fix.proof.said, width)


def diff(patch: str, width: int) -> Iterator[Line]:
    """What goes, under its line number, and what comes; where nothing goes, the line before."""
    number = 0
    before: tuple[int, str] | None = None
    for raw in patch.splitlines():
        if cell := re.match(r"\+\+\+ .*, (cell \d+)\s*$", raw):
            yield line((" " * 8 + cell[1], "dim"))
        if raw.startswith(("--- ", "+++ ", "\\")):
            continue
        if hunk := re.match(r"@@ -(\d+)", raw):
            number, before = int(hunk[1]), None
        elif raw.startswith("-"):
            yield from diff_line(number, "-", raw[1:], "red", width)
            number, before = number + 1, None
        elif raw.startswith("+"):
            if before:
                yield from diff_line(before[0], " ", before[1], "", width)
            before = None
            yield from diff_line(None, "+", raw[1:], "green", width)
        elif number:
            before = number, raw[1:]
            number += 1


def diff_line(number: int | None, sign: str, raw: str, style: str, width: int) -> Iterator[Line]:
    shown = as_source(raw, is_code=True)
    kept = shown.lstrip(" ")
    lead = shown[: min(len(shown) - len(kept), (width - 8) // 2)]
    first, *rest = wrap(kept, width - 8 - len(lead))
    begin = f"{number:>5}" if number else " " * 5
    yield line((begin[-5:], "dim"), (f" {sign} {lead}{first}", style))
    for one in rest:
        yield line((" " * 8 + lead + one, style))


def python_said(said: str, width: int) -> Iterator[Line]:
    """Its beginning; the whole of a long text stands in the JSON document."""
    shown = wrap(in_part(said.strip()), width - LABEL)
    if len(shown) > MOST_PYTHON_LINES:
        shown = [
            *shown[: MOST_PYTHON_LINES - 1],
            shorten(shown[MOST_PYTHON_LINES - 1] + " …", width - LABEL),
        ]
    yield from labelled("python", "\n".join(shown) if said.strip() else "", width)
