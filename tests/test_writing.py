"""Files and folders appear whole or not at all, on a full disk too."""

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors import SafetensorError

from surefit.errors import BadInput
from surefit.writing import new_folder, remove_folder, write_json, write_lines, writing
from tools.faults.children import Interruption, begin, kill_now

WAYS = {
    "safetensors": "save_file({'a': torch.zeros(2_000_000)}, side / 'a.safetensors')",
    "torch.save": "torch.save({'a': torch.zeros(2_000_000)}, side / 'a.pt')",
    "torch.save of many": "torch.save([torch.zeros(99_999) for _ in range(40)], side / 'a.pt')",
    "bytes": "(side / 'a').write_bytes(bytes(8_000_000))",
}
"""Ways of saving 8 MB and more."""


def fail_in(path: Path, error: BaseException) -> None:
    """An error when a file of the new folder is written already."""
    with new_folder(path) as side:
        (side / "a").write_text("new")
        raise error


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# Folders


def test_a_folder_appears_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "first"
    with new_folder(path) as side:
        (side / "a").write_text("1")
        assert not path.exists()
    assert names(path) == ["a"]
    assert names(path.parent) == ["first"]


def test_it_replaces_its_like_whole(tmp_path: Path) -> None:
    path = tmp_path / "first"
    for name in ("a", "b"):
        with new_folder(path) as side:
            (side / name).write_text("1")
    assert names(path) == ["b"]


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt(), OSError(5, "I/O error")])
def test_nothing_is_left_of_a_failure(tmp_path: Path, error: BaseException) -> None:
    with pytest.raises(type(error)):
        fail_in(tmp_path / "first", error)
    assert names(tmp_path) == []


def test_what_was_there_survives_a_failure(tmp_path: Path) -> None:
    path = tmp_path / "first"
    with new_folder(path) as side:
        (side / "a").write_text("old")
    with pytest.raises(ValueError, match="no"):
        fail_in(path, ValueError("no"))
    assert names(tmp_path) == ["first"]
    assert (path / "a").read_text() == "old"


def test_what_a_killed_run_left_at_the_side_does_not_come_along(tmp_path: Path) -> None:
    (tmp_path / ".first.part").mkdir()
    (tmp_path / ".first.part" / "half").write_text("x")
    with new_folder(tmp_path / "first") as side:
        (side / "a").write_text("1")
    assert names(tmp_path / "first") == ["a"]
    assert names(tmp_path) == ["first"]


# Files


@given(value=st.recursive(st.none() | st.integers(-9, 9) | st.text(), st.lists, max_leaves=9))
def test_json_is_read_back(tmp_path_factory: pytest.TempPathFactory, value: object) -> None:
    file = tmp_path_factory.mktemp("json") / "deep" / "a.json"
    write_json(file, value)
    assert msgspec.json.decode(file.read_bytes()) == value
    assert names(file.parent) == ["a.json"]


def test_lines_are_read_back(tmp_path: Path) -> None:
    records: list[dict[str, object]] = [{"a": 1}, {"a": "zwei\n"}, {}]
    write_lines(tmp_path / "a.jsonl", iter(records))
    lines = (tmp_path / "a.jsonl").read_bytes().splitlines()
    assert [msgspec.json.decode(line) for line in lines] == records


def test_a_file_that_cannot_be_made_of_a_value_leaves_the_old_one(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    write_json(file, 1)
    with pytest.raises(TypeError):
        write_json(file, object())
    assert file.read_text() == "1\n"
    assert names(tmp_path) == ["a.json"]


# What cannot be written


def test_a_file_in_the_way_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file")
    with pytest.raises(BadInput) as caught:
        write_json(tmp_path / "runs" / "a.json", 1)
    assert caught.value.findings[0].rule == "not-written"
    with pytest.raises(BadInput) as caught, new_folder(tmp_path / "runs" / "first"):
        pass
    assert caught.value.findings[0].rule == "not-written"
    assert names(tmp_path) == ["runs"]
    assert (tmp_path / "runs").read_text() == "a file"


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to root")
def test_a_closed_folder(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(BadInput) as caught:
        write_json(tmp_path / "a.json", 1)
    assert caught.value.findings[0].rule == "not-written"


def test_permission_denied_is_a_finding(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught, writing(tmp_path / "a"):
        raise PermissionError(13, "Permission denied")
    assert caught.value.findings[0].rule == "not-written"
    assert "--out FOLDER" in caught.value.findings[0].fixes[0].text


@pytest.mark.parametrize("error", [RuntimeError("shapes differ"), OSError(5, "I/O error")])
def test_other_errors_go_through_as_they_are(tmp_path: Path, error: Exception) -> None:
    with pytest.raises(type(error), match=str(error).replace("[", r"\[")), writing(tmp_path):
        raise error


@pytest.mark.parametrize("call", range(1, 12))
def test_a_process_killed_while_it_replaces_a_folder_leaves_a_whole_one(
    tmp_path: Path, call: int
) -> None:
    """Killed before each of its calls on files: old or new, or at the side and put back."""
    path, disk = tmp_path / "disk" / "step-1", tmp_path / "disk"
    fill(path, "old")
    child = begin(lambda: fill(path, "new"), tmp_path / "log", Interruption(disk, call, kill_now))
    assert child.wait() == (0 if call > CALLS_TO_REPLACE else -signal.SIGKILL), child.said
    if path.exists():
        texts = [(path / name).read_text() for name in ("a", "b")]
        assert texts in (["old", "old"], ["new", "new"])
    with pytest.raises(ValueError, match="no"):
        fail_in(path, ValueError("no"))
    assert names(disk) == ["step-1"]
    assert names(path) == ["a", "b"]


CALLS_TO_REPLACE = 8


def fill(path: Path, text: str) -> int:
    with new_folder(path) as side:
        for name in ("a", "b"):
            (side / name).write_text(text)
    return 0


def removed(path: Path) -> int:
    remove_folder(path)
    return 0


def test_a_removed_folder_is_gone_at_once(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    for call in range(1, 5):
        fill(disk / "step-1", "old")
        child = begin(
            lambda: removed(disk / "step-1"),
            tmp_path / "log",
            Interruption(disk, call, kill_now),
        )
        assert child.wait() == -signal.SIGKILL, child.said
        assert (disk / "step-1").exists() == (call == 1)
        if call == 1:
            assert names(disk / "step-1") == ["a", "b"]


# A full disk


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_disk_a_quota_and_a_limit_are_all_full(tmp_path: Path, number: int) -> None:
    said = os.strerror(number)
    for error in (OSError(number, said), SafetensorError(f"I/O error: {said} (os error {number})")):
        with pytest.raises(BadInput) as caught, writing(tmp_path / "a"):
            raise error
        check_disk_full(caught, tmp_path / "a")


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of 3 MB; what is saved in the tests is larger."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=3m", "surefit-test", str(disk)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("mounting a small disk needs root")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


def check_disk_full(caught: pytest.ExceptionInfo[BadInput], path: Path) -> None:
    (found,) = caught.value.findings
    assert found.rule == "disk-full"
    assert found.place.file == str(path)
    assert "the disk is full" in found.headline
    assert found.python_said


@pytest.mark.parametrize("way", WAYS)
def test_a_full_disk_leaves_no_half_folder(full_disk: Path, way: str) -> None:
    import torch
    from safetensors.torch import save_file

    path = full_disk / "step-1"
    with new_folder(path) as side:
        (side / "old").write_text("whole")
    with pytest.raises(BadInput) as caught, new_folder(path) as side:
        exec(WAYS[way], {"torch": torch, "save_file": save_file, "side": side})
    check_disk_full(caught, path)
    if way != "safetensors":  # which asks for all of the room before it writes
        free = caught.value.findings[0].facts[0].value.split()[0].replace(",", "")
        assert int(free) < 1 << 20, "the room was counted after it had been made"
    assert names(full_disk) == ["step-1"]
    assert (path / "old").read_text() == "whole"


def test_a_full_disk_leaves_the_old_file(full_disk: Path) -> None:
    file = full_disk / "a.json"
    write_json(file, "old")
    with pytest.raises(BadInput) as caught:
        write_json(file, "x" * 8_000_000)
    check_disk_full(caught, file)
    with pytest.raises(BadInput) as caught:
        write_lines(file, [{"x": "x" * 1_000_000}] * 8)
    check_disk_full(caught, file)
    assert names(full_disk) == ["a.json"]
    assert msgspec.json.decode(file.read_bytes()) == "old"


def test_a_limit_on_files_leaves_nothing(tmp_path: Path) -> None:
    """Works for every user: a file may not grow beyond 1 MB in the child process."""
    program = f"""
        import resource
        import torch
        from pathlib import Path
        from safetensors.torch import save_file
        from surefit.errors import BadInput
        from surefit.writing import new_folder

        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
        for name, save in {WAYS!r}.items():
            try:
                with new_folder(Path("step-1")) as side:
                    exec(save)
            except BadInput as refused:
                print(name, refused.findings[0].rule, sep=": ")
    """
    ran = subprocess.run(
        [sys.executable, "-c", dedent(program)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    # torch does not say why a file could not be written, and the disk has room here.
    rules = [f"{way}: {'not-written' if way.startswith('torch') else 'disk-full'}" for way in WAYS]
    assert ran.stdout.splitlines() == rules, ran.stderr
    assert names(tmp_path) == []
