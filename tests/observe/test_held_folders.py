"""Temporary folders of surefit, also of one that was killed."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from surefit.observe.held_folders import HELD, PREFIX, held_folder, sweep


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_it_is_removed_with_what_nobody_may_write(temporary: Path) -> None:
    with held_folder("proof-") as folder:
        assert folder.name.startswith(PREFIX + "proof-")
        (folder / "closed").mkdir()
        (folder / "closed" / "file").write_text("x")
        (folder / "closed").chmod(0)
    assert list(temporary.iterdir()) == []


def test_what_a_killed_process_left_is_removed_at_the_next_start(temporary: Path) -> None:
    code = (
        "import tempfile, time; from surefit.observe.held_folders import held_folder\n"
        f"tempfile.tempdir = {str(temporary)!r}\n"
        "with held_folder() as folder:\n    print(folder, flush=True); time.sleep(60)\n"
    )
    owner = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    left = Path(owner.stdout.readline().strip())
    sweep()
    assert left.is_dir()  # its owner lives
    os.kill(owner.pid, signal.SIGKILL)
    owner.communicate()
    with held_folder() as mine:
        assert not left.exists()
        assert mine.is_dir()


def test_folders_of_others_stay(temporary: Path) -> None:
    (temporary / f"{PREFIX}mine").mkdir()
    (temporary / "other").mkdir()
    (temporary / "other" / HELD).write_text("")
    sweep()
    assert {path.name for path in temporary.iterdir()} == {f"{PREFIX}mine", "other"}
