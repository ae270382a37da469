"""`surefit lint`."""

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

from surefit.did_you_mean import nearest
from surefit.doctor.findings import COMMAND_LINE, Finding, Fix, Place, Proof, Severity
from surefit.doctor.rule import refusal
from surefit.errors import WrongCall
from surefit.render import console, outcome
from surefit.source.notebooks import is_notebook

from .notebooks import refuse_no_notebook

if TYPE_CHECKING:
    from surefit.doctor.cells import Cells
    from surefit.doctor.recording import Recording

NO_SUCH_PATH = refusal("SF015", "nothing-to-read", "A path has no Python file that can be read.")
NOT_PYTHON = refusal("SF017", "not-python", "A file that was to be read is not Python.")

NOT_RUN = "lint runs nothing; `surefit run` tries it"
NOT_CODE = (".json", ".jsonl", ".toml", ".yaml", ".yml", ".md", ".txt", ".csv")
"""Some of these would pass as Python by chance."""
CODE = (".py", ".ipynb")
FILES_OF_A_PROCESS = 100
"""Fewer are read sooner than a process is begun."""
FILES_AT_ONCE = 20

FileFindings = tuple[list[Finding], list[str]]
"""Of one file: findings, and rules that failed themselves."""


def lint(*paths: Path) -> int:
    """Read training scripts without running them, and say what is wrong in them.

    surefit lint train.py
    surefit lint src experiments/train.ipynb
    surefit lint --brief

    `# surefit: allow[rule-name]` on a line, or alone on the line above it, silences
    a rule there, for `surefit run` too. The exit code is 1 if there is an error.

    Parameters
    ----------
    paths
        Scripts and notebooks, and folders to look through; by default the current folder.
    """
    from surefit.observe.scripts import python_files

    chosen = paths or (Path(),)
    refuse_wrong_paths(chosen)
    files = python_files(chosen)
    if not files:
        raise WrongCall(*(no_such_path(path, "has no Python file in it") for path in chosen))
    found, faults = [], []
    with every_file(files) as results, console.progress("Reading scripts", len(files)) as bar:
        for findings, broken in results:
            found += findings
            faults += broken
            bar.step()
    tell(found, len(files), faults)
    return int(bool(faults) or any(one.severity is Severity.ERROR for one in found))


@contextmanager
def every_file(files: Sequence[Path]) -> Iterator[Iterable[FileFindings]]:
    """What is said of each, in order; many files are shared out to a process for each core."""
    folder = Path.cwd()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    processes = min(cores, len(files) // FILES_OF_A_PROCESS)
    if processes < 2:
        yield (read_alone(file, folder) for file in files)
        return
    # Forks, made before the bar has a thread: they have imported what is needed.
    with ProcessPoolExecutor(processes, get_context("fork")) as pool:
        folders = repeat(folder)
        yield pool.map(read_alone, files, folders, chunksize=FILES_AT_ONCE)


def read_alone(path: Path, folder: Path) -> FileFindings:
    """`read`, and nothing kept: a tree is a hundred times its text, and there are thousands."""
    from surefit.doctor.recording import parsed

    try:
        return read(path, folder)
    finally:
        parsed.cache_clear()


def read(path: Path, folder: Path) -> FileFindings:
    """What the rules say of one file, by lines, and the rules that failed themselves."""
    from surefit.doctor.diagnose import look
    from surefit.doctor.recording import Recording
    from surefit.observe.scripts import Unreadable, read_script

    script = read_script(path, folder)
    cells = cells_of(path, script.file)
    if isinstance(script, Unreadable):
        found = [not_python(script.file, script.line, script.why)] if script.is_code else []
        return [cells.finding(one) if cells else one for one in found], []
    seen = Recording([script])
    diagnosis = look(seen)
    found = [unproved(finding, seen, cells) for finding in diagnosis.findings]
    if cells is not None:
        found = [cells.finding(finding) for finding in found]
    return (
        sorted(found, key=lambda one: (one.place.cell or 0, one.place.line or 0)),
        [f"{script.file}: {line}" for line in diagnosis.broken_rules],
    )


def cells_of(path: Path, name: str) -> "Cells | None":
    """The notebook that a file is, if it is one and can be read."""
    from surefit.doctor.cells import Cells
    from surefit.source.notebooks import (
        LARGEST_NOTEBOOK,
        NotANotebook,
        is_notebook,
        read_notebook,
    )
    from surefit.user_files import read_plain

    if not is_notebook(path):
        return None
    try:
        return Cells(name, read_notebook(read_plain(path, LARGEST_NOTEBOOK)))
    except (OSError, NotANotebook):
        return None


def refuse_wrong_paths(paths: Sequence[Path]) -> None:
    for path in paths:
        if path.is_file() and is_notebook(path):
            refuse_no_notebook(path)
    found = [
        no_such_path(path, "is not a Python file" if path.exists() else "does not exist")
        for path in paths
        if not path.exists() or (path.is_file() and path.suffix.lower() in NOT_CODE)
    ]
    if found:
        raise WrongCall(*found)


def no_such_path(path: Path, reason: str) -> Finding:
    beside = (
        [str(one) for one in path.parent.iterdir() if one.is_dir() or one.suffix in CODE]
        if path.parent.is_dir() and not path.exists()
        else []
    )
    meant = nearest(str(path), beside)
    fixes = (Fix(f"Write `{meant}`, the nearest name."),) if meant else ()
    return NO_SUCH_PATH.finding(COMMAND_LINE, f"`{path}` {reason}.", fixes=fixes)


def not_python(file: str, line: int | None, why: str) -> Finding:
    return NOT_PYTHON.finding(
        Place(file, line),
        f"`{file}` cannot be read as Python, so no rule was asked about it: {why}.",
    )


def unproved(finding: Finding, seen: "Recording", cells: "Cells | None" = None) -> Finding:
    """With each edit as a patch; nothing was tried."""
    return replace(finding, fixes=tuple(as_patch(fix, seen, cells) for fix in finding.fixes))


def as_patch(fix: Fix, seen: "Recording", cells: "Cells | None") -> Fix:
    from surefit.source.edits import as_diff

    source = seen.source(fix.edit.file) if fix.edit else None
    if fix.edit is None or source is None:
        said = fix.why_not_tried or "there is no patch to try"
        return replace(fix, proof=Proof("not-tried", said))
    try:
        patch = as_diff(fix.edit, source.text)
        if cells is not None:
            patch = cells.notebook.as_diff(fix.edit)
    except ValueError:
        return replace(fix, proof=Proof("not-tried", fix.why_not_tried or "it cannot be patched"))
    return replace(fix, patch=patch, proof=Proof("not-tried", fix.why_not_tried or NOT_RUN))


def tell(found: Sequence[Finding], files: int, faults: Sequence[str]) -> None:
    """Findings, then rules that failed, then how many files and findings there are."""
    outcome.tell(*found)
    for line in faults:
        console.errors.print(f"surefit: {line}", soft_wrap=True)
    counts = [
        counted(sum(one.severity is severity for one in found), severity.value)
        for severity in Severity
        if any(one.severity is severity for one in found)
    ]
    console.say(f"{counted(files, 'file')} read: {', '.join(counts) or 'nothing found'}")


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
