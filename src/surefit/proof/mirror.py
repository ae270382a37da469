"""A copy of the folders that a script runs in, as they were before its first run."""

import os
import shutil
from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path

from surefit.doctor.words import bytes_of
from surefit.observe.inside.traces import walls
from surefit.observe.inside.traces.outside import free_to_write, is_within
from surefit.observe.script import Launch
from surefit.proof.snapshot import (
    MOST_FILES,
    TOO_MANY,
    CannotTry,
    Found,
    Snapshot,
    is_left_out,
    walk,
)

MOST_BYTES = 1_000_000_000
MOST_NEIGHBOURS = 500


@dataclass(frozen=True, slots=True)
class Mirror:
    """Every copied file lies under `root` as the real one lies under `/`, so that relative paths
    mean the same."""

    root: Path
    folders: tuple[Path, ...]

    def of(self, path: Path) -> Path:
        return self.root / path.relative_to(path.anchor)

    def holds(self, path: Path) -> bool:
        """A path that the script finds in the copy, now or after writing it there."""
        for folder in self.folders:
            if path.is_relative_to(folder):
                between = [path, *path.parents][: len(path.parts) - len(folder.parts)]
                return not any(is_left_out(part) for part in between)
        return False

    def translated(self, word: str) -> str:
        """An argument or a value of the environment, with absolute paths led to the copy."""
        if os.pathsep in word:
            return os.pathsep.join(self.translated(part) for part in word.split(os.pathsep))
        name, equals, value = word.rpartition("=")
        path = Path(os.path.normpath(value)) if value.startswith(os.sep) else None
        return f"{name}{equals}{self.of(path)}" if path and self.holds(path) else word


def folders_of(launch: Launch) -> tuple[Path, ...]:
    """The working directory and, if the script lies elsewhere, its folder; outer ones only."""
    cwd = launch.cwd.resolve()
    script = (cwd / launch.script).resolve().parent if launch.script else cwd
    if script.is_relative_to(cwd):
        return (cwd,)
    return (script,) if cwd.is_relative_to(script) else (cwd, script)


def copied(launch: Launch, before: Snapshot | None, root: Path) -> Mirror:
    """Real copies, never links to files: compiled code would write through those where nothing
    holds it. What holds a run keeps it from writing to folders of data, which are linked.

    Raises `CannotTry` where the folder is too large, or is no more what the first run found.
    """
    root = root.resolve()
    mirror = Mirror(root, folders_of(launch))
    data: frozenset[Path] = frozenset()
    if before and not os.environ.get(walls.TRUSTED):
        data = before.data
        refuse_changed_data(before)
    plan = list(planned(mirror.folders, before, data))
    refuse_too_large(plan, root)
    for folder in mirror.folders:
        mirror.of(folder).mkdir(parents=True, exist_ok=True)
    for item in plan:
        item.put(mirror)
    for folder in data:
        mirror.of(folder).symlink_to(folder)
    for folder in mirror.folders:
        link_neighbours(folder, mirror)
    return mirror


@dataclass(frozen=True, slots=True)
class Item:
    """Something to copy, and its content where the file itself has changed since."""

    path: Path
    size: int = 0
    content: bytes | None = None

    def put(self, mirror: Mirror) -> None:
        there = mirror.of(self.path)
        there.parent.mkdir(parents=True, exist_ok=True)
        if self.content is not None:
            there.write_bytes(self.content)
            if self.path.exists():
                shutil.copymode(self.path, there)
        elif not self.path.is_dir():
            shutil.copy2(self.path, there)
        elif self.path.is_symlink():
            there.symlink_to(mirror.translated(str(self.path.resolve())))
        else:
            there.mkdir(exist_ok=True)


def refuse_changed_data(before: Snapshot) -> None:
    """Of folders of data only times are known."""
    for folder in before.data:
        itself = Found(folder, is_folder=True, now=folder.stat())
        for found in (itself, *walk(folder)):
            if found.now.st_mtime_ns > before.taken:
                raise CannotTry(not_the_same("changed", found.path.relative_to(before.folder)))


def planned(
    folders: tuple[Path, ...], before: Snapshot | None, data: Container[Path]
) -> Iterator[Item]:
    """Without what the first run made, and with what it changed or removed as it was before."""
    if before and before.why_not_whole:
        raise CannotTry(before.why_not_whole)
    for found in (found for folder in folders for found in walk(folder, data)):
        if before is None or is_unknown(found.path, before):
            yield unknown(found, before)
        elif found.is_folder:
            if found.path in before.folders:
                yield Item(found.path)
        elif found.path in before.files:
            yield as_it_was(found, before)
    if before:
        yield from removed(before)


def is_unknown(path: Path, before: Snapshot) -> bool:
    """The snapshot did not look there."""
    inside = path.is_relative_to(before.folder)
    return not inside or any(path.is_relative_to(folder) for folder in before.data)


def unknown(found: Found, before: Snapshot | None) -> Item:
    """In a folder of which there is no snapshot."""
    if found.is_folder:
        return Item(found.path)
    if before and found.now.st_mtime_ns > before.taken:
        raise CannotTry(not_the_same("changed", found.path))
    return Item(found.path, found.now.st_size)


def as_it_was(found: Found, before: Snapshot) -> Item:
    file = before.files[found.path]
    if file.is_still(found.now):
        return Item(found.path, file.size)
    if file.content is None:
        raise CannotTry(not_the_same("changed", found.path.relative_to(before.folder)))
    return Item(found.path, file.size, file.content)


def removed(before: Snapshot) -> Iterator[Item]:
    for path, file in before.files.items():
        if not path.exists():
            if file.content is None:
                raise CannotTry(not_the_same("removed", path.relative_to(before.folder)))
            yield Item(path, file.size, file.content)


def not_the_same(what: str, path: Path) -> str:
    return f"the first run {what} {path}, so that a second run would not be the same"


def refuse_too_large(plan: list[Item], root: Path) -> None:
    if sum(not item.path.is_dir() for item in plan) > MOST_FILES:
        raise CannotTry(TOO_MANY)
    size = sum(item.size for item in plan)
    if size > MOST_BYTES:
        raise CannotTry(
            f"the folder holds {bytes_of(size)}; a proof copies at most {bytes_of(MOST_BYTES)}"
        )
    free = shutil.disk_usage(root).free
    if size > free // 2:
        raise CannotTry(f"the folder holds {bytes_of(size)}, and {root} has {bytes_of(free)} free")


def link_neighbours(folder: Path, mirror: Mirror) -> None:
    """`../data` leads to the real one, to be read; writing there is writing outside, and where it
    would not be, as among temporary files, there are no links."""
    free = [os.path.realpath(path) for path in free_to_write()]
    for parent in folder.parents:
        if parent == Path(parent.anchor) or is_within(str(parent), free):
            return
        try:
            neighbours = list(parent.iterdir())
        except OSError:
            return
        for path in neighbours[:MOST_NEIGHBOURS]:
            there = mirror.of(path)
            if not there.exists() and not there.is_symlink():
                there.symlink_to(path)
