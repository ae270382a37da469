"""Two runs never write one run folder."""

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from surefit.errors import BadInput
from surefit.train.record import RunFolder, check_free, start_run
from surefit.train.sole_run import hold, sole_run
from tools.faults.children import Child, begin, pause_now


def train_until_killed(path: Path) -> int:
    with sole_run(path):
        start_run(path, {"epochs": 1})
        pause_now()
    return 0


@pytest.fixture
def training(tmp_path: Path) -> Iterator[Child]:
    """Another process that has begun a run in `run`, and does not end."""
    child = begin(lambda: train_until_killed(tmp_path / "run"), tmp_path / "log")
    assert child.wait_for_pause(), child.said
    yield child
    child.kill()


def test_a_run_is_not_resumed_while_another_process_trains(tmp_path: Path, training: Child) -> None:
    with pytest.raises(BadInput) as caught, sole_run(tmp_path / "run"):
        hold(tmp_path / "run")
    (finding,) = caught.value.findings
    assert finding.rule == "run-in-use"
    assert [fact.value for fact in finding.facts] == [str(training.process)]


def test_a_killed_process_holds_nothing(tmp_path: Path, training: Child) -> None:
    training.kill()
    with sole_run(tmp_path / "run"):
        hold(tmp_path / "run")
        hold(tmp_path / "run")  # it is its own already


def held(path: Path) -> int:
    hold(path)
    return 0


def test_a_folder_is_free_again_after_a_run(tmp_path: Path) -> None:
    for number in range(2):
        with sole_run(tmp_path):
            hold(tmp_path)
        child = begin(lambda: held(tmp_path), tmp_path / f"log-{number}")
        assert child.wait() == 0, child.said


def test_of_two_that_begin_at_once_the_second_is_refused(tmp_path: Path) -> None:
    """Both have looked before, and it was free."""
    path = tmp_path / "run"
    check_free(path)
    start_run(path, {"epochs": 1})
    settings = (path / "settings.json").read_bytes()
    with pytest.raises(BadInput, match="already holds a run"), sole_run(path):
        start_run(path, {"epochs": 2})
    assert (path / "settings.json").read_bytes() == settings


def while_training(path: Path, work: Callable[[RunFolder], object]) -> None:
    """Done by a process that trains in this folder."""
    with sole_run(path):
        work(start_run(path, {"epochs": 1}))


def test_a_removed_folder_is_said_and_not_made_again(tmp_path: Path) -> None:
    def go_on(folder: RunFolder) -> None:
        folder.add({"step": 1})
        shutil.rmtree(folder.path)
        folder.add({"step": 2})

    with pytest.raises(BadInput) as caught:
        while_training(tmp_path / "run", go_on)
    assert caught.value.findings[0].rule == "run-folder-gone"
    assert list(tmp_path.iterdir()) == []


def test_an_error_that_follows_from_it_is_said_as_that(tmp_path: Path) -> None:
    def finish(folder: RunFolder) -> None:
        shutil.rmtree(folder.path)
        folder.finish(1, "model")

    with pytest.raises(BadInput) as caught:
        while_training(tmp_path / "run", finish)
    (finding,) = caught.value.findings
    assert finding.rule == "run-folder-gone"
    assert finding.python_said.startswith("FileNotFoundError")


def test_an_error_of_the_users_data_stays_what_it_is(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        while_training(tmp_path / "run", lambda _: (tmp_path / "rows.jsonl").read_text())


@pytest.mark.parametrize("name", ["run/best", "weights.safetensors"])
def test_a_disk_that_became_read_only_is_said(tmp_path: Path, name: str) -> None:
    """By a rename, and by `shutil.rmtree`, which names a file without its folder."""

    def write(_folder: RunFolder) -> None:
        where = name if "/" not in name else str(tmp_path / name)
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), where)

    with pytest.raises(BadInput) as caught:
        while_training(tmp_path / "run", write)
    assert caught.value.findings[0].rule == "not-written"


def test_what_a_run_left_that_never_began_is_not_in_the_way(tmp_path: Path) -> None:
    """Killed while its settings were written."""
    (tmp_path / ".settings.json.part").write_text("{")
    check_free(tmp_path)
    start_run(tmp_path, {"epochs": 1})
    assert [path.name for path in tmp_path.iterdir()] == ["settings.json"]


def test_a_run_killed_before_it_had_settings_begins_again(tmp_path: Path) -> None:
    """What it had put in is its own; anything else in the folder is somebody's."""
    path = tmp_path / "run"

    def killed(folder: Path) -> None:
        (folder / "training-rows.json").write_text("{")
        (folder / ".data.rows.part").write_text("")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), sole_run(path):
        start_run(path, {"epochs": 1}, fill=killed)
    assert not (path / "settings.json").exists()
    check_free(path)
    (path / "notes.txt").write_text("mine")
    with pytest.raises(BadInput):
        check_free(path)
