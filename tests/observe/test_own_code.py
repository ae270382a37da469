"""Whose code a file is, by where it lies."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from surefit.observe.inside import own_code


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    for known in (own_code.is_own, own_code._packages_of_others):
        known.cache_clear()
    yield
    for known in (own_code.is_own, own_code._packages_of_others):
        known.cache_clear()


def test_packages_on_the_path_beside_the_project_are_libraries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, other = tmp_path / "project", tmp_path / "other"
    for folder in (project / "src" / "mine", project / "scripts", other / "theirs"):
        folder.mkdir(parents=True)
    (project / "pyproject.toml").write_text("")
    monkeypatch.chdir(project / "scripts")
    monkeypatch.setattr(sys, "argv", ["train.py"])
    monkeypatch.setenv("PYTHONPATH", f"{project / 'src'}:{other}")
    assert own_code.is_own(str(project / "scripts" / "train.py"))
    assert own_code.is_own(str(project / "src" / "mine" / "model.py"))
    assert not own_code.is_own(str(other / "theirs" / "layers.py"))


def test_a_folder_that_holds_the_project_is_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "job").mkdir()
    monkeypatch.chdir(tmp_path / "job")
    monkeypatch.setattr(sys, "argv", ["train.py"])
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert own_code.is_own(str(tmp_path / "shared.py"))


def test_installed_packages_and_generated_code_are_not() -> None:
    assert not own_code.is_own(pytest.__file__)
    assert not own_code.is_own("<string>")
