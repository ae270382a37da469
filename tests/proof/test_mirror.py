"""Copies of real folders: what is in them, and when there is none."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefit.observe.script import Launch
from surefit.proof import mirror as module
from surefit.proof.mirror import Mirror, copied, folders_of
from surefit.proof.snapshot import CannotTry, snapshot


def made(folder: Path, *names: str) -> Path:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return folder


def launch(cwd: Path, script: str = "train.py") -> Launch:
    return Launch((sys.executable, script), cwd, script)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return made(tmp_path / "run", "train.py", "data/rows.jsonl")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "copy").mkdir()
    return tmp_path / "copy"


def files(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_files_are_copies_at_their_place(run: Path, root: Path) -> None:
    (run / "train.py").chmod(0o755)
    mirror = copied(launch(run), None, root)
    there = mirror.of(run)
    assert files(there) == {"train.py": "train.py", "data/rows.jsonl": "data/rows.jsonl"}
    assert (there / "train.py").stat().st_mode & 0o777 == 0o755
    (there / "train.py").write_text("other")
    assert (run / "train.py").read_text() == "train.py"


def test_a_link_to_a_file_becomes_a_file(run: Path, root: Path, tmp_path: Path) -> None:
    """Compiled code would write through a link."""
    (tmp_path / "far.bin").write_text("far")
    (run / "near.bin").symlink_to(tmp_path / "far.bin")
    there = copied(launch(run), None, root).of(run) / "near.bin"
    assert not there.is_symlink()
    there.write_text("changed")
    assert (tmp_path / "far.bin").read_text() == "far"


def test_links_to_folders_stay_links(run: Path, root: Path, tmp_path: Path) -> None:
    made(tmp_path, "far/rows")
    (run / "far").symlink_to(tmp_path / "far")
    (run / "near").symlink_to(run / "data")
    mirror = copied(launch(run), None, root)
    assert (mirror.of(run) / "far").readlink() == tmp_path / "far"
    assert (mirror.of(run) / "near").readlink() == mirror.of(run / "data")


def test_what_the_first_run_made_is_left_out(run: Path, root: Path) -> None:
    (run / "empty").mkdir()
    before = snapshot(run)
    made(run, "checkpoints/1.pt", "data/cache", "log.txt")
    there = copied(launch(run), before, root).of(run)
    assert files(there) == {"train.py": "train.py", "data/rows.jsonl": "data/rows.jsonl"}
    assert (there / "empty").is_dir()
    assert not (there / "checkpoints").exists()


def test_what_the_first_run_changed_is_put_back(run: Path, root: Path) -> None:
    made(run, "log.txt", "state.json")
    before = snapshot(run)
    (run / "log.txt").write_text("changed by the run")
    (run / "state.json").unlink()
    there = copied(launch(run), before, root).of(run)
    assert (there / "log.txt").read_text() == "log.txt"
    assert (there / "state.json").read_text() == "state.json"


@pytest.mark.parametrize("how", ["changed", "removed"])
def test_a_large_file_that_the_first_run_touched(
    run: Path, root: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("surefit.proof.snapshot.LARGEST_KEPT", 10)
    (run / "state.pt").write_bytes(b"x" * 11)
    before = snapshot(run)
    if how == "changed":
        (run / "state.pt").write_bytes(b"y" * 12)
    else:
        (run / "state.pt").unlink()
    said = f"the first run {how} state.pt, so that a second run would not be the same"
    with pytest.raises(CannotTry) as refused:
        copied(launch(run), before, root)
    assert refused.value.reason == said


def test_too_large(run: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (run / "weights.bin").touch()
    os.truncate(run / "weights.bin", 3_200_000_000)
    with pytest.raises(CannotTry, match=r"holds 3\.2 GB; a proof copies at most 1\.0 GB$"):
        copied(launch(run), None, root)
    (run / "weights.bin").unlink()
    monkeypatch.setattr(module, "MOST_FILES", 1)
    with pytest.raises(CannotTry, match="more than 20,000 files, the most that"):
        copied(launch(run), None, root)


def test_too_many_files_before_the_run(
    run: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("surefit.proof.snapshot.MOST_FILES", 1)
    with pytest.raises(CannotTry, match="more than 20,000 files, the most that a proof copies"):
        copied(launch(run), snapshot(run), root)


def test_a_script_elsewhere_brings_its_folder(tmp_path: Path, root: Path) -> None:
    made(tmp_path, "work/rows", "code/train.py", "code/model.py", "other/x")
    mirror = copied(launch(tmp_path / "work", str(tmp_path / "code" / "train.py")), None, root)
    assert mirror.folders == (tmp_path / "work", tmp_path / "code")
    assert files(mirror.of(tmp_path / "code")).keys() == {"train.py", "model.py"}
    assert (mirror.of(tmp_path / "work") / "../code/train.py").resolve().exists()


def test_a_script_in_a_folder_above_or_below(tmp_path: Path) -> None:
    made(tmp_path, "project/train.py", "project/runs/1/x", "project/src/train.py")
    assert folders_of(launch(tmp_path / "project" / "runs", "../train.py")) == (
        tmp_path / "project",
    )
    assert folders_of(launch(tmp_path / "project", "src/train.py")) == (tmp_path / "project",)
    module_run = Launch((sys.executable, "-m", "train"), tmp_path / "project")
    assert folders_of(module_run) == (tmp_path / "project",)


def test_changes_beside_the_snapshot_are_seen_by_their_time(tmp_path: Path, root: Path) -> None:
    made(tmp_path, "work/rows", "code/train.py")
    os.utime(tmp_path / "code" / "train.py", (1, 1))
    before = snapshot(tmp_path / "work")
    command = launch(tmp_path / "work", "../code/train.py")
    copied(command, before, root)
    made(tmp_path, "code/out.txt")
    with pytest.raises(CannotTry, match=r"the first run changed .*/code/out\.txt, so that"):
        copied(command, before, root)


def test_neighbours_are_there_to_be_read(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    made(tmp_path, "project/code/train.py", "project/data/rows", "far/rows")
    there = copied(launch(tmp_path / "project" / "code"), None, root)
    cwd = there.of(tmp_path / "project" / "code")
    assert (cwd / "../data/rows").read_text() == "project/data/rows"
    assert (cwd / "../../far/rows").read_text() == "far/rows"
    assert (cwd / "../data").is_symlink()


def test_temporary_neighbours_are_not_linked(run: Path, root: Path, tmp_path: Path) -> None:
    """Writing there would not count as outside."""
    made(tmp_path, "data/rows")
    mirror = copied(launch(run), None, root)
    assert not (mirror.of(run) / "../data").exists()


class TestTranslated:
    """Absolute paths of arguments lead to the copy."""

    def test_paths_into_the_folder(self, tmp_path: Path) -> None:
        made(tmp_path, ".venv/bin/python", "env/pyvenv.cfg")
        mirror = Mirror(Path("/copy"), (tmp_path,))
        inside = f"/copy{tmp_path}"
        assert mirror.translated(f"{tmp_path}/out") == f"{inside}/out"
        assert mirror.translated(f"--out={tmp_path}/a/../b") == f"--out={inside}/b"
        assert mirror.translated(f"{tmp_path}/src:/usr/lib:{tmp_path}") == (
            f"{inside}/src:/usr/lib:{inside}"
        )
        assert mirror.translated(f"{tmp_path}/.venv/bin/python") == f"{tmp_path}/.venv/bin/python"
        assert mirror.translated(f"{tmp_path}/env/bin/python") == f"{tmp_path}/env/bin/python"

    @given(st.text(alphabet="ab/=:.-", max_size=30))
    def test_other_words_stay(self, word: str) -> None:
        mirror = Mirror(Path("/copy"), (Path("/home/user/project"),))
        assert mirror.translated(word) == word
        assert mirror.translated(f"/home/user/projects/{word}") == f"/home/user/projects/{word}"


def test_large_folders_without_python_are_linked(
    run: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("surefit.proof.snapshot.DATA_FILES", 2)
    made(run, "data/a", "data/deep/b", "src/code.py", "src/data/c", "src/data/d", "src/data/e")
    before = snapshot(run)
    assert before.data == {run / "data", run / "src" / "data"}
    assert {path.name for path in before.files} == {"train.py", "code.py"}
    there = copied(launch(run), before, root).of(run)
    assert (there / "data").is_symlink()
    assert (there / "data" / "deep" / "b").read_text() == "data/deep/b"
    assert (there / "src" / "data").resolve() == run / "src" / "data"
    assert not (there / "src").is_symlink()
    assert not (there / "train.py").is_symlink()


def test_folders_of_many_bytes_are_linked(
    run: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (run / "data" / "rows.bin").open("wb") as file:
        file.truncate(50_000_000_000)
    there = copied(launch(run), snapshot(run), root).of(run)
    assert (there / "data").is_symlink()
    monkeypatch.setenv("SUREFIT_TRUST_TRIAL", "1")
    with pytest.raises(CannotTry, match="holds 50"):
        copied(launch(run), snapshot(run), root)


@pytest.mark.parametrize("name", ["data/a", "data/new"])
def test_data_that_the_first_run_changed_is_not_linked(
    run: Path, root: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("surefit.proof.snapshot.DATA_FILES", 1)
    made(run, "data/a", "data/b")
    before = snapshot(run)
    later = before.taken + 10**9
    (run / name).write_text("other")
    os.utime(run / name, ns=(later, later))
    with pytest.raises(CannotTry, match=name.partition("/")[0]):
        copied(launch(run), before, root)
