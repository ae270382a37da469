"""The few bytes in which a process leaves its last event."""

import os
from pathlib import Path

import pytest

from surefit.observe.inside import spool
from surefit.observe.inside.training.last_event import LastEvent, read_last, shared


def test_what_is_written_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(spool.FOLDER, str(tmp_path))
    numbers = shared()
    for place, number in enumerate((7, 3, 1700000000.5, ord("B"), True)):
        numbers[place] = number
    found = read_last(tmp_path / f"{os.getpid()}.last")
    assert found == LastEvent(7, 3, 1700000000.5, "B", True)
    assert found.in_words() == "during a backward pass, with 3 optimizer steps completed"


def test_one_step_is_one_step() -> None:
    assert LastEvent(9, 1, 0.0, "S", False).in_words() == (
        "after an optimizer's step, with 1 optimizer step completed"
    )


def test_nothing_is_read_from_nothing(tmp_path: Path) -> None:
    (tmp_path / "short").write_bytes(b"abc")
    (tmp_path / "nonsense").write_bytes(b"\xff" * 40)
    assert read_last(tmp_path / "missing") is None
    assert read_last(tmp_path / "short") is None
    assert read_last(tmp_path / "nonsense") is None


def test_without_a_spool_nobody_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(spool.FOLDER, raising=False)
    shared()[0] = 1.0
    monkeypatch.setenv(spool.FOLDER, str(tmp_path / "gone"))
    shared()[0] = 1.0
    assert list(tmp_path.iterdir()) == []
