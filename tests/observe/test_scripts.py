"""Paths become scripts: what is looked into, what is passed over, how text is read."""

from pathlib import Path

import pytest

from surefit.doctor.observations import Script
from surefit.observe.scripts import Unreadable, python_files, read_script


def write(path: Path, text: str = "x = 1\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_what_is_looked_into(tmp_path: Path) -> None:
    for name in (
        "b.py",
        "a/c.py",
        ".hidden/a.py",
        ".venv/a.py",
        "node_modules/m/a.py",
        "a/__pycache__/a.py",
        "env/lib/a.py",
        "env/pyvenv.cfg",
        "a/readme.md",
    ):
        write(tmp_path / name)
    found = [str(file.relative_to(tmp_path)) for file in python_files([tmp_path])]
    assert found == ["b.py", "a/c.py"]
    named = [tmp_path / "a" / ".." / "b.py", tmp_path / ".hidden", tmp_path / "b.py"]
    assert [file.name for file in python_files(named)] == ["b.py", "a.py"]


def test_a_link_to_a_folder_above_ends(tmp_path: Path) -> None:
    write(tmp_path / "a" / "b.py")
    (tmp_path / "a" / "up").symlink_to(tmp_path)
    assert len(python_files([tmp_path])) == 1


def test_a_file_is_named_as_seen_from_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "inner" / "a.py")
    write(tmp_path / "b.py")
    monkeypatch.chdir(tmp_path / "inner")
    here = Path.cwd()
    for given, name in (
        ("a.py", "a.py"),
        ("./a.py", "a.py"),
        (str(here / "a.py"), "a.py"),
        ("../inner/a.py", "a.py"),
        ("../b.py", "../b.py"),
        (str(tmp_path / "b.py"), str(tmp_path / "b.py")),
    ):
        found = read_script(Path(given), here)
        assert found == Script(name, "x = 1\n")


def test_text_is_kept_as_it_is(tmp_path: Path) -> None:
    for raw, text in (
        ("\ufeffx = 'ü'\r\ny = 2\r".encode(), "\ufeffx = 'ü'\r\ny = 2\r"),
        (
            "# -*- coding: latin-1 -*-\nx = 'ü'\n".encode("latin-1"),
            "# -*- coding: latin-1 -*-\nx = 'ü'\n",
        ),
        (b"", ""),
    ):
        (tmp_path / "a.py").write_bytes(raw)
        assert read_script(tmp_path / "a.py", tmp_path) == Script("a.py", text)


def test_what_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"def f(:\n")
    found = read_script(tmp_path / "a.py", tmp_path)
    assert isinstance(found, Unreadable)
    assert (found.file, found.line) == ("a.py", 1)
    absent = read_script(tmp_path / "b.py", tmp_path)
    assert absent == Unreadable("b.py", "it cannot be read: No such file or directory")
