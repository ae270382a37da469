"""Which addresses, paths and programs count as outside."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefit.observe.inside.spool import FOLDER
from surefit.observe.inside.traces import outside


@pytest.mark.parametrize(
    ("host", "foreign"),
    [
        ("127.0.0.1", False),
        ("127.8.0.1", False),
        ("::1", False),
        ("::ffff:127.0.0.1", False),
        ("localhost", False),
        ("0.0.0.0", False),
        ("", False),
        ("10.0.0.7", True),
        ("2606:4700::1111", True),
        ("::ffff:10.0.0.7", True),
        ("hub.example", True),
        ("localhost.example", True),
    ],
)
def test_this_machine_talking_to_itself(host: str, foreign: bool) -> None:
    assert outside.is_foreign(host) is foreign


@given(st.lists(st.sampled_from(["a", "ab", "b", "..."]), min_size=1, max_size=4))
def test_what_is_within_a_folder(parts: list[str]) -> None:
    path = "/" + "/".join(parts)
    assert outside.is_within(path, ["/"])
    assert outside.is_within(path, [path])
    assert outside.is_within(path + "/x", [path])
    assert not outside.is_within(path + "x", [path])
    assert not outside.is_within(path, [path + "/x"])
    assert not outside.is_within(path, [])


def test_the_folder_that_was_copied_is_outside_though_it_is_temporary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = tmp_path.resolve()
    monkeypatch.setenv("TMPDIR", str(real))
    monkeypatch.setenv("HF_HOME", str(real / "run" / "hub"))
    assert outside.written_outside(real / "run" / "x", []) is None
    monkeypatch.setenv(outside.SANDBOX_OF, str(real / "run"))
    assert outside.written_outside(real / "run" / "x", []) == str(real / "run" / "x")
    assert outside.written_outside(real / "run" / "hub" / "x", []) is None
    assert outside.written_outside(real / "other", []) is None


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["uname", "-p"], None),
        (["/usr/bin/nvidia-smi"], None),
        ([sys.executable, "train.py"], None),
        (["python3.12", "-u", "-m", "train", "-I"], None),
        (["python", "-Im", "train"], "python -Im train"),
        (["git", "rev-parse", "HEAD"], "git rev-parse HEAD"),
        (["sh", "-c", "uname -s"], None),
        (["bash", "-c", "uname -s > x"], "uname -s > x"),
        (["sh", "-c", "it's"], "it's"),
        ([b"rm", b"-rf", b"x"], "rm -rf x"),
    ],
)
def test_programs(words: list[str | bytes], found: str | None) -> None:
    assert outside.program_outside(words[0], words, None) == found


def test_a_child_that_is_not_told_where_to_write(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["python", "x.py"]
    assert outside.program_outside("python", words, {}) == "python x.py"
    assert outside.program_outside("python", words, {FOLDER: "/spool"}) is None
    assert outside.program_outside("python", words, {os.fsencode(FOLDER): b"/spool"}) is None
    monkeypatch.setenv(outside.INSIDE, f"/a{os.pathsep}/b")
    assert outside.own_folders() == ["/a", "/b"]
