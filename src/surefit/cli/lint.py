"""`surefit lint`."""

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from surefit.did_you_mean import nearest
from surefit.doctor.findings import COMMAND_LINE, Finding, Fix, Severity
from surefit.doctor.rule import refusal
from surefit.errors import WrongCall
from surefit.lint_settings import FailOn, LintSettings, project_above, refuse_unknown, settings_for
from surefit.render import console, outcome
from surefit.source.notebooks import is_notebook

from .notebooks import refuse_no_notebook

if TYPE_CHECKING:
    from surefit.linting import Linted

NO_SUCH_PATH = refusal("SF015", "nothing-to-read", "A path has no Python file that can be read.")

NOT_CODE = (".json", ".jsonl", ".toml", ".yaml", ".yml", ".md", ".txt", ".csv")
"""Some of these would pass as Python by chance."""
CODE = (".py", ".ipynb")
FILES_OF_A_PROCESS = 100
"""Fewer are read sooner than a process is begun."""
FILES_AT_ONCE = 20

Format = Literal["text", "json", "sarif", "github", "gcc"]


def lint(
    *paths: Path,
    format: Format = "text",
    select: tuple[str, ...] = (),
    ignore: tuple[str, ...] = (),
    fail_on: FailOn | None = None,
) -> int:
    """Find faults in training scripts and notebooks without running them.

    surefit lint train.py
    surefit lint src experiments/train.ipynb
    surefit lint --brief
    surefit lint --format sarif > surefit.sarif
    surefit lint --select SF4 --ignore view-of-a-slice,SF302 --fail-on warning

    `# surefit: allow[rule-name]` on a line, or alone on the line above, silences a
    rule there, also for `surefit run`. `select`, `ignore` and `fail-on` can be set
    under `[tool.surefit]` in the nearest `pyproject.toml` above a script; flags
    override it. The exit code is 1 if there is an error (see `--fail-on`).

    Parameters
    ----------
    paths
        Scripts, notebooks and folders; by default the current folder.
    format
        Output format: `text` is written to stderr; `json`, `sarif`, `github` (workflow
        annotations) and `gcc` (compiler messages, for editors) to stdout.
    select
        Report only these rules: names, codes or prefixes of codes, separated by commas.
    ignore
        Do not report these rules: names, codes or prefixes of codes.
    fail_on
        The lowest severity that makes the exit code 1; by default `error`.
    """
    from surefit.observe.scripts import python_files

    chosen = paths or (Path(),)
    refuse_wrong_paths(chosen)
    files = python_files(chosen)
    if not files:
        raise WrongCall(*(no_such_path(path, "has no Python file in it") for path in chosen))
    flags = {"select": split(select), "ignore": split(ignore), "fail_on": fail_on}
    project_above.cache_clear()
    linted, code = read(files, {name: value for name, value in flags.items() if value}, format)
    tell(linted, format, code)
    return code


def split(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(name.strip() for part in names for name in part.split(",") if name.strip())


def read(
    files: Sequence[Path], flags: dict[str, object], format: Format
) -> tuple[list["Linted"], int]:
    """What is to be told of each file, and the exit code."""
    from_flags = replace(LintSettings(), **flags)  # type: ignore[arg-type]
    refuse_unknown((*from_flags.select, *from_flags.ignore), COMMAND_LINE)
    every = [settings_for(file, from_flags, flags) for file in files]
    linted: list[Linted] = []
    code = 0
    beside = console.out if format == "text" else console.errors
    with (
        every_file(files) as results,
        console.progress("Reading scripts", len(files), console=beside) as bar,
    ):
        for whole, settings in zip(results, every, strict=True):
            findings = tuple(filter(settings.tells, whole.findings))
            linted.append(replace(whole, findings=findings, text=""))
            if whole.faults or any(map(settings.fails_on, findings)):
                code = 1
            bar.step()
    return linted, code


@contextmanager
def every_file(files: Sequence[Path]) -> "Iterator[Iterable[Linted]]":
    """What is said of each, in order; many files are shared out to a process for each core."""
    folder = Path.cwd()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    processes = min(cores, len(files) // FILES_OF_A_PROCESS)
    if processes < 2:
        yield (read_alone(file, folder) for file in files)
        return
    # Forks, made before the bar has a thread: they have imported what is needed.
    with ProcessPoolExecutor(processes, get_context("fork")) as pool:
        yield pool.map(read_alone, files, repeat(folder), chunksize=FILES_AT_ONCE)


def read_alone(path: Path, folder: Path) -> "Linted":
    """By this name it can be sent to another process."""
    from surefit.linting import lint_file

    return lint_file(path, folder)


def tell(linted: Sequence["Linted"], format: Format, code: int) -> None:
    """Findings in the form that was asked for; then rules that failed, and for people a count."""
    findings = [finding for file in linted for finding in file.findings]
    if format == "text":
        outcome.tell(*findings)
    else:
        outcome.keep(*findings)
        console.write(document(linted, format, code))
    for line in (fault for file in linted for fault in file.faults):
        console.errors.print(f"surefit: {line}", soft_wrap=True)
    if format == "text":
        console.say(f"{counted(len(linted), 'file')} read: {counts(findings)}")


def document(linted: Sequence["Linted"], format: Format, code: int) -> str:
    from surefit.render import annotations, json_document, sarif

    findings = [finding for file in linted for finding in file.findings]
    if format == "json":
        return json_document.document("lint", json_document.Ended(code), findings).decode()
    if format == "sarif":
        return sarif.document(findings, [fault for file in linted for fault in file.faults])
    line = annotations.github if format == "github" else annotations.gcc
    return "".join(f"{line(finding)}\n" for finding in findings)


def counts(findings: Sequence[Finding]) -> str:
    numbers = [
        counted(sum(finding.severity is severity for finding in findings), severity.value)
        for severity in Severity
        if any(finding.severity is severity for finding in findings)
    ]
    return ", ".join(numbers) or "nothing found"


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


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
