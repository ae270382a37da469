"""Short programs print and end the same with an observer as without; what differs is listed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from small_programs import PROGRAMS
from surefit.observe.script import Launch, watch

pytestmark = pytest.mark.slow

RUNPY = "Python runs the script through `runpy`, which adds two stack frames"
DIFFERS = {
    "depth of the stack": RUNPY,
    "frames above main": RUNPY,
    "walk of the stack": RUNPY,
    "depth of recursion": RUNPY,
    "depth after a change": RUNPY,
    "bytecode of a handler": "handlers in your code contain a probe",
    "builtins": "`builtins` has three more names",
    "modules of an observer": "The observer is a package",
    "fault handler": "is enabled, so that a segmentation fault leaves a stack",
    "number of open files": "its output file is open",
}
"""Programs that can tell, and why that stays; each is in docs/limits.md."""


def outcome_without(folder: Path) -> tuple[int, str]:
    with (folder / "output").open("w+b") as output:
        code = subprocess.call(
            [sys.executable, "program.py"],
            cwd=folder,
            env=dict(os.environ),  # not what C code of this process has added to it
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    return (code if code >= 0 else 128 - code), (folder / "output").read_text(errors="replace")


def outcome_with(folder: Path) -> tuple[int, str]:
    launch = Launch((sys.executable, "program.py"), folder, "program.py")
    with (folder / "output").open("w+b") as output:
        watched = watch(launch, quiet=True, output=output, seconds=60.0)
    return watched.code, (folder / "output").read_text(errors="replace")


def settled(text: str, folder: Path) -> str:
    """Without addresses, numbers of threads and the folder's own name."""
    return re.sub(r"0x[0-9a-f]+|\b\d{9,}\b", "N", text).replace(str(folder), "")


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_the_same(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", "0")
    found = []
    for way in (outcome_without, outcome_with):
        folder = tmp_path / way.__name__
        folder.mkdir()
        (folder / "program.py").write_text(PROGRAMS[name])
        code, text = way(folder)
        found.append((code, settled(text, folder)))
    if name in DIFFERS:
        assert found[0] != found[1], "it no longer differs: take it off the list"
        assert found[0][0] == found[1][0]
    else:
        assert found[1] == found[0]


def test_there_are_as_many_as_promised() -> None:
    assert len(PROGRAMS) >= 100
    assert set(DIFFERS) <= set(PROGRAMS)


def test_what_differs_is_documented() -> None:
    limits = (Path(__file__).parents[2] / "docs" / "limits.md").read_text()
    assert {reason for reason in DIFFERS.values() if reason not in limits} == set()
