"""`surefit demo`: the doctor first, then a training run, and at the end the path of its page."""

from pathlib import Path
from typing import Any

import pytest

from surefit.cli import demo, main


def test_the_tour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[tuple[list[str], Path]] = []

    def record(command: list[str], *, cwd: Path, check: bool) -> None:
        assert not check
        assert (cwd / command[-1]).is_file()
        ran.append((command[3:], cwd))

    monkeypatch.setattr("surefit.cli.demo.subprocess.run", record)
    learned: list[Any] = []
    monkeypatch.setattr(demo, "learn", lambda settings, out: learned.append((settings.seed, out)))
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--seed", "7"]) == 0
    scripts = Path("runs/demo-1-scripts")
    assert ran == [
        (["run", "carried_memory.py"], scripts),
        (["run", "--stop-on", "error", "--no-proof", "gradients_add_up.py"], scripts),
    ]
    assert learned == [(7, Path("runs/demo-1"))]
    said = capsys.readouterr().out
    assert "\x1b" not in said
    assert said.index("Part 1 of 3") < said.index("$ cd runs/demo-1-scripts && surefit run carried")
    assert said.rstrip().endswith("runs/demo-1/report.html")


def test_without_torch_the_scripts_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[list[str]] = []
    monkeypatch.setattr(
        "surefit.cli.demo.subprocess.run", lambda command, **_: ran.append(command[3:])
    )
    monkeypatch.setattr(demo, "find_spec", lambda _: None)
    monkeypatch.chdir(tmp_path)
    assert main(["demo"]) == 1
    assert ran == [["lint", "carried_memory.py"]]
    shown = capsys.readouterr()
    assert "torch is not installed, so the example scripts are read" in shown.out
    assert "missing-part" in shown.err
    assert "pip install" in shown.err
