"""A working folder goes when its run ends, however it ends."""

import os
import subprocess
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path

import pytest

from surefit.data.working_folder import YOUNG, working_folder

KILLED = """
import os, signal
from surefit.data.working_folder import working_folder
with working_folder() as folder:
    (folder / "rows.arrow").write_text("rows")
    os.utime(folder, (0, 0))
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("error", [None, ValueError, KeyboardInterrupt, SystemExit])
def test_it_is_removed(place: Path, error: type[BaseException] | None) -> None:
    def run() -> None:
        with working_folder() as folder:
            assert folder.parent == place
            (folder / "inside").mkdir()
            (folder / "inside" / "rows.arrow").write_text("rows")
            if error:
                raise error

    with pytest.raises(error) if error else nullcontext():
        run()
    assert list(place.iterdir()) == []


def test_what_a_killed_process_left_goes_with_the_next(place: Path) -> None:
    child = [sys.executable, "-c", KILLED]
    subprocess.run(child, env=os.environ | {"TMPDIR": str(place)}, check=False)
    (left,) = place.iterdir()
    with working_folder() as folder:
        assert list(place.iterdir()) == [folder]
    assert not left.exists()


def test_folders_in_use_and_young_ones_stay(place: Path) -> None:
    young = place / "surefit-work-young"
    young.mkdir()
    (young / "in-use").write_text("")
    with working_folder() as other:
        os.utime(other, (0, 0))
        with working_folder() as folder:
            assert {young, other, folder} == set(place.iterdir())
    assert YOUNG > 1
    assert list(place.iterdir()) == [young]
