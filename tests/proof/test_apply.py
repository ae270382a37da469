"""Patches that held are written, and no others."""

from dataclasses import replace
from pathlib import Path

import pytest

from surefit.doctor.findings import Finding, Fix, Place, Proof, Severity
from surefit.proof.apply import apply
from surefit.proof.own_file import OwnFile
from surefit.source.patches import Edit, Replace
from surefit.source.spans import Span

TEXT = "x = 1\ny = 2\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(TEXT)
    return tmp_path


def fix(folder: Path, line: int, new: str, status: str = "held") -> Fix:
    edit = Edit("train.py", (Replace(Span(line, 4, line, 5), new),))
    diff = OwnFile.read(folder / "train.py").as_diff(edit)
    return Fix("Change it.", edit, patch=diff, proof=Proof(status, "so"))  # type: ignore[arg-type]


def finding(*fixes: Fix, rule: str = "some-rule") -> Finding:
    return Finding(rule, "SF1", Severity.ERROR, Place("train.py", 1), "It.", fixes=fixes)


def test_what_held_is_written(folder: Path) -> None:
    (folder / "train.py").chmod(0o754)
    done = apply([finding(fix(folder, 1, "7", "failed"), fix(folder, 2, "8"))], folder)
    assert done == ["train.py is patched: some-rule"]
    assert (folder / "train.py").read_text() == "x = 1\ny = 8\n"
    assert (folder / "train.py").stat().st_mode & 0o777 == 0o754
    assert [path.name for path in folder.iterdir()] == ["train.py"]


def test_two_findings_in_one_file(folder: Path) -> None:
    found = [finding(fix(folder, 1, "7")), finding(fix(folder, 2, "8"), rule="other-rule")]
    assert apply(found, folder) == ["train.py is patched: some-rule, other-rule"]
    assert (folder / "train.py").read_text() == "x = 7\ny = 8\n"


def test_of_several_that_held_the_first_is_written_and_a_choice_never(folder: Path) -> None:
    choice = replace(fix(folder, 1, "6"), choice=True)
    several = finding(choice, fix(folder, 1, "7"), fix(folder, 1, "8"))
    assert apply([several], folder) == ["train.py is patched: some-rule"]
    assert (folder / "train.py").read_text() == "x = 7\ny = 2\n"
    (folder / "train.py").write_text(TEXT)
    said = "train.py is left as it is: the fix of some-rule is your choice"
    assert apply([finding(choice)], folder) == [said]
    assert (folder / "train.py").read_text() == TEXT


def test_nothing_held(folder: Path) -> None:
    assert apply([finding(fix(folder, 1, "7", "not-tried"))], folder) == []
    assert (folder / "train.py").read_text() == TEXT


def test_a_file_that_was_changed_is_left_alone(folder: Path) -> None:
    made = fix(folder, 2, "8")
    (folder / "train.py").write_text("# new\n" + TEXT)
    assert apply([finding(made)], folder) == [
        "train.py is left as it is: it was changed after the patch was tried"
    ]
    assert (folder / "train.py").read_text() == "# new\n" + TEXT


def test_a_link_is_followed(folder: Path) -> None:
    (folder / "real").mkdir()
    (folder / "train.py").rename(folder / "real" / "train.py")
    (folder / "train.py").symlink_to("real/train.py")
    apply([finding(fix(folder, 1, "7"))], folder)
    assert (folder / "train.py").is_symlink()
    assert (folder / "real" / "train.py").read_text() == "x = 7\ny = 2\n"


def test_a_file_that_is_gone(folder: Path) -> None:
    made = fix(folder, 1, "7")
    (folder / "train.py").unlink()
    (line,) = apply([finding(made)], folder)
    assert line.startswith("train.py is left as it is: [Errno 2] No such file")
    assert replace(made).patch is not None
