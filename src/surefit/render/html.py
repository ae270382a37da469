"""Findings and reports as HTML for notebooks: small, with its style in it, all text escaped."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape

from surefit.doctor.findings import Fact, Finding, Fix, Severity

from .marks import ReadSource, marked, named_in, place_lines, read_source
from .terminal import MOST_SOURCE_LINES, YOUR_CHOICE
from .visible import visible

COLOURS = {Severity.ERROR: "#c62828", Severity.WARNING: "#b26a00", Severity.NOTE: "#1565c0"}
BOX = (
    "border-left:4px solid {colour};padding:.4em 1em;margin:.5em 0;max-width:62em;"
    "background:rgba(127,127,127,.08)"
)
CODE = "margin:.4em 0;white-space:pre-wrap;overflow-wrap:anywhere"
LABEL = "text-align:left;vertical-align:top;padding:0 1.2em 0 0;font-weight:normal;opacity:.7"
VALUE = "text-align:left;vertical-align:top;padding:0;white-space:pre-wrap"
NOTHING = "surefit: no findings."


def html(text: str) -> str:
    """Text of any origin: what a browser would obey is shown instead."""
    return escape(visible(text, keep="\n\t"))


def findings_html(findings: Sequence[Finding], read_source: ReadSource = read_source) -> str:
    if not findings:
        return f"<div>{html(NOTHING)}</div>"
    return "".join(finding_html(finding, read_source) for finding in findings)


def finding_html(finding: Finding, read_source: ReadSource = read_source) -> str:
    colour = COLOURS[finding.severity]
    parts = [
        f'<div class="surefit-finding" style="{BOX.format(colour=colour)}">',
        f'<div><b style="color:{colour}">{finding.severity}: {html(finding.rule)}</b> '
        f'<span style="opacity:.7">{html(str(finding.place))} · {html(finding.code)}</span></div>',
        f"<div><b>{html(finding.headline)}</b></div>",
        *source_html(finding, read_source),
        table(facts(finding)),
        *(fix_html(fix) for fix in finding.fixes),
        table([("python", finding.python_said)] if finding.python_said else []),
        "</div>",
    ]
    return "".join(parts)


def facts(finding: Finding) -> Iterator[tuple[str, str]]:
    yield from (("seen", said(fact)) for fact in finding.facts)
    yield from (("ruled out", said(fact)) for fact in finding.ruled_out)
    if finding.why:
        yield "why", finding.why


def said(fact: Fact) -> str:
    return f"{fact.name}: {fact.value}" if fact.name else fact.value


def table(rows: Iterable[tuple[str, str]]) -> str:
    cells = "".join(
        f'<tr style="background:none"><th style="{LABEL}">{html(name)}</th>'
        f'<td style="{VALUE}">{html(value)}</td></tr>'
        for name, value in rows
    )
    return f'<table style="margin:.3em 0;border:none">{cells}</table>' if cells else ""


def source_html(finding: Finding, read_source: ReadSource) -> Iterator[str]:
    """The lines of the place; of a single one the part that is meant is marked."""
    place = finding.place
    if place.line is None:
        return
    last = min(max(place.end_line or 0, place.line), place.line + MOST_SOURCE_LINES - 1)
    lines = place_lines(place, place.line, last, read_source)
    if not any(lines):
        return
    span = marked(lines[0], named_in(finding.headline), True) if len(lines) == 1 else None
    shown = [html(line) for line in lines]
    if span is not None:
        begin, end = span
        before, meant, after = lines[0][:begin], lines[0][begin:end], lines[0][end:]
        shown = [f"{html(before)}<mark>{html(meant)}</mark>{html(after)}"]
    numbered = "\n".join(f"{place.line + at:>5} │ {line}" for at, line in enumerate(shown))
    yield f'<pre style="{CODE}">{numbered}</pre>'


def fix_html(fix: Fix) -> str:
    rows = [("fix", f"{YOUR_CHOICE}{fix.text}" if fix.choice else fix.text)]
    patch = fix.shown or fix.patch
    proof = [("proof", fix.proof.said)] if fix.proof else []
    return table(rows) + (patch_html(patch) if patch else "") + table(proof)


def patch_html(patch: str) -> str:
    lines = [
        line for line in patch.splitlines() if not line.startswith(("--- ", "+++ ", "@@", "\\"))
    ]
    shown = "\n".join(coloured(line) for line in lines)
    return f'<pre style="{CODE}">{shown}</pre>'


def coloured(line: str) -> str:
    colour = {"-": "rgba(198,40,40,.2)", "+": "rgba(46,125,50,.2)"}.get(line[:1])
    return (
        html(line) if colour is None else f'<span style="background:{colour}">{html(line)}</span>'
    )


def report_html(title: str, values: Mapping[str, object]) -> str:
    """Names and values of a report, a row each; what is not known is left out."""
    rows = ((name.replace("_", " "), number(value)) for name, value in values.items())
    known = ((name, value) for name, value in rows if value)
    return f"<div><b>{html(title)}</b>{table(known)}</div>"


def number(value: object) -> str:
    if value is None or isinstance(value, list | tuple | dict):
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def bar_html(description: str, done: int, total: int | None, values: str) -> str:
    shown = str(done) if total is None else f"{done}/{total}"
    bar = f'<progress value="{done}" max="{total}"></progress> ' if total else ""
    return f"<div>{html(description)} {bar}{html(shown)} {html(values)}</div>"
