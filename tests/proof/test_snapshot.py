"""What is remembered of a folder."""

from pathlib import Path

import pytest

from surefit.proof import snapshot as module
from surefit.proof.snapshot import snapshot, walk


def made(folder: Path, *names: str) -> Path:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return folder


def names(folder: Path) -> list[str]:
    return [str(found.path.relative_to(folder)) for found in walk(folder)]


def test_what_no_script_reads_is_left_out(tmp_path: Path) -> None:
    made(
        tmp_path,
        "train.py",
        "data/rows.jsonl",
        ".git/HEAD",
        ".venv/bin/python",
        "sub/__pycache__/x.pyc",
        "node_modules/a/index.js",
        "mine/pyvenv.cfg",
        "mine/lib/x.py",
        ".cache/kept",
    )
    assert names(tmp_path) == [
        ".cache",
        ".cache/kept",
        "data",
        "data/rows.jsonl",
        "sub",
        "train.py",
    ]


def test_links_to_folders_are_not_entered(tmp_path: Path) -> None:
    made(tmp_path, "away/large.bin", "run/train.py")
    (tmp_path / "run" / "data").symlink_to(tmp_path / "away")
    (tmp_path / "run" / "file").symlink_to(tmp_path / "away" / "large.bin")
    (tmp_path / "run" / "broken").symlink_to("nowhere")
    assert names(tmp_path / "run") == ["data", "file", "train.py"]


def test_content_is_kept_of_small_files_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(tmp_path, "a", "b", "large")
    (tmp_path / "large").write_bytes(b"x" * 20)
    monkeypatch.setattr(module, "LARGEST_KEPT", 10)
    seen = snapshot(tmp_path)
    kept = {path.name: file.content for path, file in seen.files.items()}
    assert kept == {"a": b"a", "b": b"b", "large": None}
    assert seen.files[tmp_path / "large"].size == 20


def test_content_is_kept_up_to_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tmp_path, "a", "b", "c")
    monkeypatch.setattr(module, "MOST_KEPT_BYTES", 2)
    kept = [file.content for file in snapshot(tmp_path).files.values()]
    assert kept == [b"a", b"b", None]
    monkeypatch.setattr(module, "MOST_KEPT_FILES", 1)
    kept = [file.content for file in snapshot(tmp_path).files.values()]
    assert kept == [b"a", None, None]


def test_it_stops_at_too_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tmp_path, "a", "b", "c")
    monkeypatch.setattr(module, "MOST_FILES", 2)
    assert snapshot(tmp_path).why_not_whole == (
        "the folder holds more than 20,000 files, the most that a proof copies"
    )
    monkeypatch.setattr(module, "MOST_FILES", 3)
    assert snapshot(tmp_path).why_not_whole == ""


def test_the_user_does_not_wait_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tmp_path, "a", "b")
    monkeypatch.setattr(module, "LONGEST", -1.0)
    assert snapshot(tmp_path).why_not_whole == "the folder could not be looked through in 2 s"
