"""Runs on a disk that is full, that becomes read-only, or from which their folder is removed."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from .children import Child, Interruption, begin, limit_files, pause_now, surefit
from .ends import losses_of
from .outcomes import Outcome, refused, succeeded
from .unbroken import Unbroken

ROOM = 64 << 20
"""Bytes for a run of any recipe, and more."""


def mount(*words: str) -> bool:
    return subprocess.run(["mount", *words], check=False, capture_output=True).returncode == 0


def resized(disk: Path, options: str) -> bool:
    return mount("-o", f"remount,{options}", str(disk))


@contextmanager
def own_disk(place: Path) -> Iterator[Path | None]:
    """In memory; None where this user may mount nothing."""
    disk = place / "disk"
    disk.mkdir(parents=True)
    if not mount("-t", "tmpfs", "-o", f"size={ROOM}", "surefit-faults", str(disk)):
        yield None
        return
    try:
        yield disk
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


def harmed_disks(unbroken: Unbroken, place: Path, times: int, seed: int) -> Iterator[Outcome]:
    """Each of them ends in a finding; with room, or the right to write, it is resumed."""
    recipe = unbroken.training.recipe
    ways: dict[str, Callable[[Unbroken, Path, Path, Random], list[str]]] = {
        "the disk is full": _full,
        "the folder becomes read-only": _read_only,
        "the folder is removed": _removed,
    }
    for what, harm in ways.items():
        outcome = Outcome(f"{recipe}: {what} during the run")
        for number in range(times):
            name = f"{recipe}-{what.split()[-1]}-{seed}-{number}"
            with own_disk(place / name) as disk:
                if disk is None and harm is _read_only:
                    outcome.notes = ["not tried: mounting a disk needs root"]
                    break
                outcome.add(name, harm(unbroken, disk or place / name, place / name, Random(name)))
        if harm is _removed:
            outcome.notes = ["but the run itself"]
        yield outcome


def _full(unbroken: Unbroken, disk: Path, place: Path, random: Random) -> list[str]:
    """Without the right to mount: files of the run cannot grow beyond as much."""
    out, log = disk / "run", place / "log.txt"
    share = random.uniform(0.02, 0.9)
    for _ in range(4):
        child = _in_little_room(unbroken, out, log, share)
        if child.wait() != 0:
            break
        shutil.rmtree(out)  # it had room enough
        share /= 2
    lost = refused(child, "disk-full", "not-written")
    resized(disk, f"size={ROOM}")
    return lost or _resumed(unbroken, out, log)


def _in_little_room(unbroken: Unbroken, out: Path, log: Path, share: float) -> Child:
    room = int(share * unbroken.bytes)
    work = surefit(unbroken.words(out))
    if resized(out.parent, f"size={room}"):
        return begin(work, log)
    return begin(limit_files(room // 4, work), log)


def _read_only(unbroken: Unbroken, disk: Path, place: Path, random: Random) -> list[str]:
    out, log = disk / "run", place / "log.txt"
    child = _paused(unbroken, out, log, random)
    if not resized(disk, "ro"):
        child.kill()
        return ["a disk could not be made read-only"]
    child.go_on()
    lost = refused(child, "not-written")
    resized(disk, "rw")
    return lost or _resumed(unbroken, out, log)


def _removed(unbroken: Unbroken, disk: Path, place: Path, random: Random) -> list[str]:
    """It must not go on as if it were there, nor end as a run that is done."""
    out, log = disk / "run", place / "log.txt"
    child = _paused(unbroken, out, log, random)
    shutil.rmtree(out)
    child.go_on()
    lost = refused(child, "run-folder-gone")
    if not lost and (out / "report.json").exists():
        lost = ["a report of half a run"]
    return lost


def _paused(unbroken: Unbroken, out: Path, log: Path, random: Random) -> Child:
    call = random.randint(2, unbroken.calls - 1)
    child = begin(surefit(unbroken.words(out)), log, Interruption(out, call, pause_now))
    if not child.wait_for_pause():
        raise RuntimeError(f"it ended before its call {call}:\n{child.said}")
    return child


def _resumed(unbroken: Unbroken, out: Path, log: Path) -> list[str]:
    return succeeded(begin(surefit(unbroken.words(out)), log)) or losses_of(unbroken.out, out)
