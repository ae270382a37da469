"""What one call of surefit has found and made so far, shown at once and kept for `--json`."""

from surefit.doctor.findings import Finding

from . import brief, console, terminal
from .json_document import Json
from .marks import with_columns

as_lines = False
"""Set by `--brief`: a line for each finding."""

findings: list[Finding] = []
parts: dict[str, Json] = {}
script: str | None = None
"""The user's script, for commands that are about one; `exception` is what ended it."""
exception: str | None = None
not_observed: list[str] = []
told_elsewhere = False
"""Another process reports for this one, and writes the JSON document."""


def begin() -> None:
    global as_lines, script, exception, told_elsewhere
    as_lines, script, exception, told_elsewhere = False, None, None, False
    findings.clear()
    parts.clear()
    not_observed.clear()


def tell(*found: Finding) -> None:
    """Shows findings on stderr, and keeps them for the JSON document."""
    keep(*found)
    show(*found)


def show(*found: Finding) -> None:
    """On stderr alone."""
    if as_lines:
        show_in_a_line(*found)
    else:
        terminal.show(found, console.errors)


def show_in_a_line(*found: Finding) -> None:
    for finding in found:
        console.errors.print(brief.line(finding), soft_wrap=True)


def keep(*found: Finding) -> None:
    """For the JSON document alone: what they say was shown in another form."""
    findings.extend(map(with_columns, found))


def add_part(name: str, value: Json) -> None:
    """Puts a further key beside `findings` into the JSON document."""
    parts[name] = value
