"""Files and folders that appear whole or not at all."""

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from surefit.doctor.findings import Fact, Finding, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput

DISK_FULL = refusal("SF193", "disk-full", "The disk is full.")
NOT_WRITTEN = refusal("SF194", "not-written", "A file or folder could not be written.")

RESUME = "go on with `--resume` and the run's folder"
READ_ONLY_WORDS = "Read-only file system"
FULL_DISK_WORDS = ("No space left", "Disk quota exceeded", "File too large")


def write_json(file: Path, value: object) -> None:
    _write(file, msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n")


def write_lines(file: Path, records: Iterable[Mapping[str, Any]]) -> None:
    _write(file, b"".join(msgspec.json.encode(record) + b"\n" for record in records))


@contextmanager
def new_folder(path: Path, after_room: str = RESUME) -> Iterator[Path]:
    """A folder to fill at the side; it takes its name when it is whole, and replaces its like.

    The like steps aside first, so that it is never half there; of a process that was killed then,
    it is put back. `after_room` is what to do when a full disk has room again.
    """
    side, like = (path.with_name(f".{path.name}.{end}") for end in ("part", "old"))
    _put_back(like, path)
    for left in (side, like):
        shutil.rmtree(left, ignore_errors=True)
    try:
        with writing(path, after_room):  # inside, so that it sees the room left before any is made
            side.mkdir(parents=True)
            yield side
            for file in side.iterdir():
                _to_disk(file)
            if path.is_dir():
                path.rename(like)
            side.rename(path)
            shutil.rmtree(like, ignore_errors=True)
    except BaseException:  # a kill by Ctrl-C too leaves nothing half-written
        _put_back(like, path)
        shutil.rmtree(side, ignore_errors=True)
        raise


def remove_folder(path: Path) -> None:
    """All at once, to a reader of its name."""
    aside = path.with_name(f".{path.name}.old")
    with writing(path):
        shutil.rmtree(aside, ignore_errors=True)
        path.rename(aside)
        shutil.rmtree(aside)


def _put_back(aside: Path, path: Path) -> None:
    if aside.exists() and not path.exists():
        aside.rename(path)


@contextmanager
def writing(path: Path, after_room: str = RESUME) -> Iterator[None]:
    """Says in a finding that a disk was full or a folder closed; the libraries say it variously."""
    try:
        yield
    except Exception as error:  # safetensors and torch have their own kinds; others go on
        finding = _failed_write(path, error, after_room)
        if finding is None:
            raise
        raise BadInput(finding) from error


def put(file: Path, content: bytes) -> None:
    """To the side and renamed, so that a reader never sees half of it."""
    side = file.with_name(f".{file.name}.part")
    try:
        side.write_bytes(content)
        side.replace(file)
    finally:
        with suppress(OSError):
            side.unlink(missing_ok=True)


def copy_file(source: Path, file: Path) -> None:
    """To the side and renamed; however large it is."""
    side = file.with_name(f".{file.name}.part")
    try:
        with writing(file):
            file.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, side)
            side.replace(file)
    finally:
        with suppress(OSError):
            side.unlink(missing_ok=True)


def _write(file: Path, content: bytes) -> None:
    with writing(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        put(file, content)


def _to_disk(file: Path) -> None:
    if file.is_file():
        with file.open("rb") as opened:
            os.fsync(opened.fileno())


def _failed_write(path: Path, error: Exception, after_room: str) -> Finding | None:
    there = next(p for p in [path, *path.parents] if p.exists())
    free = shutil.disk_usage(there).free
    said = f"{type(error).__name__}: {error}"
    # torch.save says only that writing failed, so that the room left must be looked at.
    lost_by_torch = "PytorchStreamWriter" in said or "unexpected pos" in said
    if any(word in said for word in FULL_DISK_WORDS) or (lost_by_torch and free < 1 << 20):
        return DISK_FULL.finding(
            Place(str(path)),
            f"`{path.name}` could not be saved: the disk is full.",
            facts=[Fact("free where it lies", f"{free:,} bytes in {there}")],
            why="What was half written was removed; all that was there before is as it was.",
            fixes=[Fix(f"Make room there, then {after_room}.")],
            python_said=said.splitlines()[0],
        )
    closed = isinstance(error, PermissionError | NotADirectoryError | FileExistsError)
    if closed or READ_ONLY_WORDS in said or lost_by_torch:
        return NOT_WRITTEN.finding(
            Place(str(path)),
            f"`{path}` could not be written.",
            fixes=[Fix("Choose another folder:  --out FOLDER")],
            python_said=said.splitlines()[0],
        )
    return None
