"""Scripts run plainly, observed, and by `surefit run`, and what each way left."""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent
from typing import Any
from unittest.mock import patch

import forked
from surefit.doctor.observations import Crash, NotObserved, Swallowed
from surefit.doctor.recording import Recording, read
from surefit.observe.script import observed_environment

CHECKOUT = Path(__file__).resolve().parents[1]

LONGEST = 300
"""Seconds, on a machine that others use too."""


@dataclass(frozen=True, slots=True)
class Ran:
    """A program that has ended."""

    code: int
    out: str
    err: str
    seen: Recording = field(default_factory=lambda: Recording([]))
    document: dict[str, Any] = field(default_factory=dict)
    """What `--json` wrote."""

    @property
    def crash(self) -> Crash:
        (crash,) = [one for one in self.seen.all(Crash) if not one.swallowed]
        return crash

    @property
    def swallowed(self) -> list[Swallowed]:
        return list(self.seen.all(Swallowed))

    @property
    def faults(self) -> list[str]:
        """Of surefit itself."""
        every = self.seen.all(NotObserved)
        return [f"{one.what}: {one.why}" for one in every if "surefit failed" in one.why]

    def rules(self) -> list[str]:
        return [finding["rule"] for finding in self.document["findings"]]


def written(folder: Path, **files: str) -> Path:
    """Puts scripts into a folder; gives the first one."""
    for name, text in files.items():
        (folder / f"{name}.py").write_text(dedent(text).lstrip("\n"), encoding="utf-8")
    return folder / f"{next(iter(files))}.py"


def lines_about_surefit(text: str, *folders: Path) -> list[str]:
    """Lines that surefit wrote, and frames of its files.

    This checkout, Python's environment and `folders` may themselves be called surefit. Of a path
    below one of them only the rest counts, which for a file of the package is `src/surefit/...`.
    """
    above = {*map(str, folders), str(CHECKOUT), sys.prefix, sys.base_prefix}
    longest_first = "|".join(map(re.escape, sorted(above, key=len, reverse=True)))
    rest = re.sub(rf"(?<![\w./-])(?:{longest_first})/", "", text)
    return [line for line in rest.splitlines() if "surefit" in line]


def plainly(words: Sequence[object], cwd: Path, **more: str) -> Ran:
    return _run([sys.executable, *map(str, words)], cwd, {**os.environ, **more})


def observed(words: Sequence[object], cwd: Path, **more: str) -> Ran:
    """With nobody who watches or asks: only what the processes themselves write down."""
    with tempfile.TemporaryDirectory() as spool:
        environment = observed_environment(Path(spool), more)
        ran = _run([sys.executable, *map(str, words)], cwd, environment)
        lines = [line for file in _spooled(Path(spool)) for line in file.read_text().splitlines()]
    return Ran(ran.code, ran.out, ran.err, read(lines, cwd))


def _spooled(folder: Path) -> Iterator[Path]:
    yield from sorted(folder.glob("*.jsonl"))


def surefit_run(words: Sequence[object], cwd: Path, flags: Sequence[str] = (), **more: str) -> Ran:
    """`surefit run FLAGS WORDS`, with all that it saw and told."""
    with tempfile.TemporaryDirectory() as folder:
        document, record = Path(folder) / "document.json", Path(folder) / "record.jsonl"
        tell = ["--json", str(document), "--record", str(record)]
        command = [sys.executable, "-m", "surefit", "run", *tell, *flags, *map(str, words)]
        ran = _run(command, cwd, {**os.environ, **more})
        seen = read(record.read_text().splitlines()) if record.exists() else Recording([])
        told = json.loads(document.read_text()) if document.exists() else {}
    return Ran(ran.code, ran.out, ran.err, seen, told)


def forked_plainly(words: Sequence[object], cwd: Path) -> Ran:
    """`plainly`, in a fork of a Python that has imported torch."""
    with forked.captured() as said:
        child = forked.started([sys.executable, *map(str, words)], cwd=cwd, env=dict(os.environ))
        code = child.wait(LONGEST)
    return Ran(code, said.out, said.err)


def forked_observed(words: Sequence[object], cwd: Path) -> Ran:
    """`observed`, in such a fork."""
    with tempfile.TemporaryDirectory() as spool:
        environment = observed_environment(Path(spool), {"PYTHONHASHSEED": "0"})
        with forked.captured() as said:
            command = [sys.executable, *map(str, words)]
            code = forked.started(command, cwd=cwd, env=environment).wait(LONGEST)
        lines = [line for file in _spooled(Path(spool)) for line in file.read_text().splitlines()]
    return Ran(code, said.out, said.err, read(lines, cwd))


def forked_run(words: Sequence[object], cwd: Path, flags: Sequence[str] = ()) -> Ran:
    """`surefit_run`, with the command in this process and the script in such forks."""
    with forked.forking():
        return run_here(words, cwd, flags)


def run_here(words: Sequence[object], cwd: Path, flags: Sequence[str] = (), **more: str) -> Ran:
    """`surefit_run`, with the command in this process and the script in a Python of its own."""
    from surefit.cli import main

    with (
        tempfile.TemporaryDirectory() as folder,
        chdir(cwd),
        patch.dict(os.environ, more),
    ):
        document, record = Path(folder) / "document.json", Path(folder) / "record.jsonl"
        tell = ["--json", str(document), "--record", str(record)]
        with forked.captured() as said:
            code = main(["run", *tell, *flags, *map(str, words)])
        seen = read(record.read_text().splitlines()) if record.exists() else Recording([])
        told = json.loads(document.read_text()) if document.exists() else {}
    return Ran(code, said.out, said.err, seen, told)


def _run(command: Sequence[str], cwd: Path, environment: Mapping[str, str]) -> Ran:
    ended = subprocess.run(
        command,
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=LONGEST,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    return Ran(ended.returncode, ended.stdout, ended.stderr)
