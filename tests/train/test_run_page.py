"""A run leaves how it ended, and a page; what was refused before leaves nothing."""

import json
from contextlib import suppress
from pathlib import Path

import pytest

from run_folders import DATA, finding
from surefit.errors import BadInput
from surefit.render.page import html
from surefit.render.page.left_behind import LeftBehind
from surefit.train.ranks import Ranks
from surefit.train.record import RunFolder, start_run
from surefit.train.run_page import begin_page, ending, leaving_page


def run(folder: Path, error: BaseException | None = None, rank: int = 0) -> LeftBehind:
    """A run that is begun and ends."""
    started = start_run(folder, {"data": "rows.jsonl"})
    with suppress(type(error) if error else BadInput), leaving_page(started, Ranks(rank, 2)):
        begin_page(started, DATA, "cpu (fp32)")
        assert "Running" in (folder / "report.html").read_text()
        if error:
            raise error
    return LeftBehind(folder)


def test_a_run_that_is_done(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    left = run(tmp_path / "run")
    assert capsys.readouterr().out == f"Page: {left.path}/report.html\n"
    assert left.ended is not None
    assert (left.ended.ended.code, left.ended.findings) == (0, [])
    assert left.environment is not None
    versions = {fact.name: fact.value for fact in left.environment.versions}
    assert versions["device"] == "cpu (fp32)"
    assert "torch" in versions
    assert left.data == DATA


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (BadInput(finding("Row 3 is bad.")), 1, None),
        (KeyboardInterrupt(), 130, "KeyboardInterrupt"),
        (ZeroDivisionError("by nought"), 1, "ZeroDivisionError: by nought"),
    ],
)
def test_a_run_that_fails(tmp_path: Path, error: BaseException, code: int, said: str) -> None:
    left = run(tmp_path / "run", error)
    assert left.ended is not None
    assert (left.ended.ended.code, left.ended.ended.exception) == (code, said)
    page = (tmp_path / "run" / "report.html").read_text()
    assert (said or "Row 3 is bad.") in page


def test_only_the_first_process_writes(tmp_path: Path) -> None:
    assert run(tmp_path / "run", ZeroDivisionError(), rank=1).ended is None


def test_what_is_refused_before_training_changes_nothing(tmp_path: Path) -> None:
    left = run(tmp_path / "run", ZeroDivisionError("first"))
    before = {file: file.read_bytes() for file in left.path.iterdir()}
    with suppress(BadInput), leaving_page(RunFolder(left.path), Ranks()):
        raise BadInput(finding())
    assert {file: file.read_bytes() for file in left.path.iterdir()} == before
    never = tmp_path / "never"
    with suppress(BadInput), leaving_page(RunFolder(never), Ranks()):
        raise BadInput(finding())
    assert not never.exists()


def test_a_run_that_goes_on_forgets_how_it_ended(tmp_path: Path) -> None:
    left = run(tmp_path / "run", ZeroDivisionError("first"))
    begin_page(RunFolder(left.path), DATA, "cpu")
    assert LeftBehind(left.path).is_running


def test_a_page_that_cannot_be_written_ends_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = start_run(tmp_path / "run", {})
    monkeypatch.setattr(html, "_template", lambda: 1 / 0)
    with leaving_page(folder, Ranks()):
        begin_page(folder, DATA, "cpu")
    assert "could not be written: ZeroDivisionError" in capsys.readouterr().out
    assert json.loads((folder.path / "findings.json").read_text())["ended"]["code"] == 0


@pytest.mark.parametrize("left", [(), ("findings.json",)], ids=["its findings", "its page"])
def test_a_run_that_was_killed_before_its_page_has_it_when_it_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: tuple[str, ...]
) -> None:
    folder = start_run(tmp_path / "run", {"data": "rows.jsonl"})
    with monkeypatch.context() as there:
        there.setattr("os.getpid", lambda: 2**22 + 1)  # a process that has died
        begin_page(folder, DATA, "cpu")
    (folder.path / "report.json").write_text("{}")
    (folder.path / ".report.html.part").write_text("<html>")
    for name in left:
        (folder.path / name).write_bytes(ending("sft", None))
    for _ in range(2):
        with leaving_page(folder, Ranks()):
            pass
        assert LeftBehind(folder.path).ended is not None
        assert "Running" not in (folder.path / "report.html").read_text()
        assert not (folder.path / ".report.html.part").exists()
    written = (folder.path / "report.html").stat().st_mtime_ns
    with leaving_page(folder, Ranks()):
        pass
    assert (folder.path / "report.html").stat().st_mtime_ns == written
