"""Scripts and notebooks read without running them: a text -> its findings, by lines."""

from dataclasses import dataclass
from pathlib import Path

from surefit.doctor.cells import Cells
from surefit.doctor.diagnose import look
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Script
from surefit.doctor.recording import Recording, parsed
from surefit.doctor.rule import refusal
from surefit.doctor.untried import untried
from surefit.observe.scripts import Unreadable, read_script, script_of
from surefit.render.marks import with_columns
from surefit.source.notebooks import (
    LARGEST_NOTEBOOK,
    NotANotebook,
    is_notebook,
    read_notebook,
)
from surefit.user_files import read_plain

NOT_PYTHON = refusal("SF017", "not-python", "A file that was to be read is not Python.")

NOT_RUN = "lint runs nothing; `surefit run` tries it"


@dataclass(frozen=True, slots=True)
class Linted:
    """What the rules say of one file, and the rules that failed themselves, a line each."""

    file: str
    findings: tuple[Finding, ...]
    faults: tuple[str, ...] = ()
    text: str = ""
    """As it was read; of a notebook the script that its cells make."""


def lint_file(path: Path, folder: Path) -> Linted:
    """A file on disk, named as seen from `folder`."""
    script = read_script(path, folder)
    return findings_in(script, cells_of(path, script.file))


def lint_text(file: str, text: str) -> Linted:
    """A script that need not be on disk."""
    return findings_in(script_of(file, text))


def findings_in(script: Script | Unreadable, cells: Cells | None = None) -> Linted:
    if isinstance(script, Unreadable):
        finding = not_python(script.file, script.line, script.why)
        refused = (cells.finding(finding) if cells else finding,)
        return Linted(script.file, refused if script.is_code else ())
    recording = Recording([script])
    diagnosis = look(recording)
    lines = [line.rstrip("\r") for line in script.text.removeprefix("\ufeff").split("\n")]
    findings = []
    for finding in diagnosis.findings:
        patched = untried(finding, recording, NOT_RUN, cells)
        if cells is not None:
            findings.append(with_columns(cells.finding(patched)))
        else:
            findings.append(
                with_columns(patched, lambda _file, first, last: lines[first - 1 : last])
            )
    parsed.cache_clear()  # a tree is a hundred times its text, and there are thousands
    return Linted(
        script.file,
        tuple(sorted(findings, key=lambda found: (found.place.cell or 0, found.place.line or 0))),
        tuple(f"{script.file}: {line}" for line in diagnosis.broken_rules),
        script.text,
    )


def cells_of(path: Path, name: str) -> Cells | None:
    """The notebook that a file is, if it is one and can be read."""
    if not is_notebook(path):
        return None
    try:
        return Cells(name, read_notebook(read_plain(path, LARGEST_NOTEBOOK)))
    except (OSError, NotANotebook):
        return None


def not_python(file: str, line: int | None, why: str) -> Finding:
    return NOT_PYTHON.finding(
        Place(file, line),
        f"`{file}` cannot be read as Python, so no rule was asked about it: {why}.",
    )
