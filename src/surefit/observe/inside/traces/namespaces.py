"""Continues a process in namespaces of its own: what it does to files, processes and networks ends
with it.

Linux alone, and only where a user may create user namespaces. The file system is read-only but
for the folders that are handed over; temporary folders and caches can be written to, and what is
written there goes to memory and is gone at the end. There is no network but a loopback of its own.
Processes outside are not seen and get no signals; what is left inside is killed at the end.
"""

import ctypes
import errno
import os
import shutil
import signal
import socket
import struct
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from surefit.observe.inside.traces.relay import call, die_with_the_parent, end_like, only_waits

NEW_MOUNTS, NEW_IPC, NEW_USERS, NEW_PROCESSES, NEW_NETWORK = (
    0x00020000,
    0x08000000,
    0x10000000,
    0x20000000,
    0x40000000,
)
BIND, RECURSIVE, PRIVATE = 0x1000, 0x4000, 0x40000
NO_SUID, NO_DEVICES = 0x2, 0x4
MOUNT_SETATTR = 442
READ_ONLY = 0x1
RELATIVE_TO_CWD, ALL_BENEATH = -100, 0x8000
DROP_CAPABILITY, NO_NEW_PRIVILEGES = 24, 38
SET_INTERFACE_FLAGS, UP_AND_RUNNING = 0x8914, 0x41
CAPABILITIES_VERSION = 0x20080522
FOR_FILES = frozenset((0, 1, 2, 3, 4))
"""Capabilities of root that decide which files can be read and written: chown to fsetid."""
LAST_CAPABILITY = 63
NOT_ISOLATED = "SUREFIT_NO_NAMESPACES"
"""Environment: as on a machine that has none."""
CHANGES = ".changes"
"""Folder in the last writable one, over which memory for changes is mounted."""
HANDED_OVER = b"+"
MOST_ENTRIES = 1000
"""Of a folder whose entries are mounted apart."""
LARGEST_COPY = 1 << 20


def enter(writable: Sequence[str], temporary: Sequence[str]) -> str:
    """Forks; returns in the process that goes on inside, with an empty text. Where that is not
    possible, the caller is as it was, and the text says why.

    `writable`: folders that stay writable for good; `temporary`: those whose changes are dropped.
    """
    if os.environ.get(NOT_ISOLATED):
        return "namespaces are switched off"
    if not hasattr(os, "fork") or not Path("/proc/self/ns/user").exists():
        return "there are no user namespaces on this system"
    sockets = unix_sockets()
    os.makedirs(os.path.join(writable[-1], CHANGES), exist_ok=True)
    # Messages stay apart: a script that ends at once sends its status right after the first word.
    line, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    child = os.fork()
    if child:
        far.close()
        with line:
            return relayed(child, line)
    try:
        line.close()
        prepare(far, writable, temporary, sockets)
    except BaseException as error:  # noqa: BLE001 - said to the process that waits
        with suppress(OSError):
            far.sendall(f"{type(error).__name__}: {error}".encode())
        os._exit(1)
    return ""


# ---------------------------------------------------------------- outside: waits for the end


def relayed(child: int, line: socket.socket) -> str:
    """Writes the maps of users, then waits; ends as the process inside ends."""
    said = line.recv(4096)
    if said == HANDED_OVER:
        try:
            write_maps(child)
        except OSError as error:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return f"users could not be mapped: {error.strerror}"
        line.sendall(HANDED_OVER)
        said = line.recv(4096)
    if said != HANDED_OVER:
        os.waitpid(child, 0)
        return said.decode(errors="replace") or "the process ended"
    die_with_the_parent()
    only_waits()
    ended = line.recv(4)
    os.waitpid(child, 0)
    end_like(struct.unpack("i", ended)[0] if len(ended) == 4 else signal.SIGKILL)


def write_maps(child: int) -> None:
    """Every user and group is itself inside; without rights for that, this one alone."""
    process = Path(f"/proc/{child}")
    if os.geteuid() != 0:
        (process / "setgroups").write_text("deny")
    for name, number in (("uid", os.geteuid()), ("gid", os.getegid())):
        ours = Path(f"/proc/self/{name}_map").read_text().split()
        whole = "".join(
            f"{first} {first} {count}\n" for first, count in zip(ours[::3], ours[2::3], strict=True)
        )
        text = whole if os.geteuid() == 0 else f"{number} {number} 1"
        (process / f"{name}_map").write_text(text)


# ---------------------------------------------------------------- on the way in


def prepare(
    line: socket.socket,
    writable: Sequence[str],
    temporary: Sequence[str],
    sockets: Iterable[str],
) -> None:
    """Returns in the process that goes on inside alone."""
    call("unshare", NEW_USERS | NEW_MOUNTS | NEW_PROCESSES | NEW_NETWORK | NEW_IPC)
    line.sendall(HANDED_OVER)
    if line.recv(1) != HANDED_OVER:
        os._exit(1)
    arrange_files(writable, temporary, sockets)
    loopback_up()
    first = os.fork()
    if first:
        only_waits()
        line.close()
        os.waitpid(first, 0)
        os._exit(0)
    die_with_the_parent()
    with suppress(OSError):  # a container hides parts of it: then the one outside is seen
        mount("proc", "/proc", "proc", NO_SUID | NO_DEVICES)
    begun, there = socket.socketpair()
    script = os.fork()
    if script:
        only_waits()
        there.close()
        begun.sendall(HANDED_OVER)
        begun.recv(1)
        line.sendall(HANDED_OVER)
        bury_until(script, line)
    begun.close()
    line.close()
    there.recv(1)
    os.setsid()
    give_up_rights()
    os.chdir(os.getcwd())  # the same name leads to what is mounted there now
    there.close()


def bury_until(script: int, line: socket.socket) -> NoReturn:
    """The first process inside: takes care of orphans, and with its end all others are killed."""
    while True:
        ended, status = os.waitpid(-1, 0)
        if ended == script:
            line.sendall(struct.pack("i", status))
            os._exit(0)


def arrange_files(
    writable: Sequence[str], temporary: Sequence[str], sockets: Iterable[str]
) -> None:
    """Read-only, but for these; changes of what is temporary go to memory."""
    mount(None, "/", None, RECURSIVE | PRIVATE)
    opened = {folder: os.open(folder, os.O_PATH) for folder in writable}
    change_attributes("/", ALL_BENEATH, add=READ_ONLY)
    changes = os.path.join(writable[-1], CHANGES)
    mount("tmpfs", changes, "tmpfs", NO_SUID | NO_DEVICES)
    upper = os.open(changes, os.O_PATH)
    for number, folder in enumerate(outermost(temporary)):
        mount_layer(folder, upper, str(number))
    for hidden in sockets:
        with suppress(OSError):  # gone, or not to be seen from here
            mount("/dev/null", hidden, None, BIND)
    for folder, descriptor in opened.items():
        mount(f"/proc/self/fd/{descriptor}", folder, None, BIND)
        change_attributes(folder, 0, remove=READ_ONLY)
        os.close(descriptor)
    os.close(upper)


def mount_layer(folder: str, upper: int, name: str) -> None:
    """What is in the folder can be read; what is written goes to `upper`.

    The kernel refuses a layer over a folder in which something is mounted that was there before.
    """
    try:
        mount_overlay(folder, folder, upper, name)
    except OSError as error:
        if error.errno != errno.EINVAL or not mounted_beneath(folder):
            raise
        mount_entries(folder, upper, name)


def mount_overlay(source: str, target: str, upper: int, name: str) -> None:
    """`source` with its changes in `upper`, mounted at `target`."""
    mounted = {path: os.open(path, os.O_PATH) for path in mounted_beneath(target)}
    lower = os.open(source, os.O_PATH)
    try:
        for kind in ("written", "work"):
            os.mkdir(f"/proc/self/fd/{upper}/{kind}-{name}", 0o700)
        written = f"/proc/self/fd/{upper}/written-{name}"
        os.chmod(written, os.stat(source).st_mode & 0o7777)
        work = f"/proc/self/fd/{upper}/work-{name}"
        options = f"lowerdir=/proc/self/fd/{lower},upperdir={written},workdir={work},userxattr"
        mount("overlay", target, "overlay", NO_SUID | NO_DEVICES, options)
        for path, descriptor in mounted.items():
            mount(f"/proc/self/fd/{descriptor}", path, None, BIND | RECURSIVE)
    finally:
        for descriptor in (lower, *mounted.values()):
            os.close(descriptor)


def mount_entries(folder: str, upper: int, name: str) -> None:
    """The same, an entry at a time: one in which something is mounted can only be read."""
    mounted = mounted_beneath(folder)
    before = os.open(folder, os.O_PATH)
    entries = os.listdir(f"/proc/self/fd/{before}")
    if len(entries) > MOST_ENTRIES:
        raise OSError(f"{folder} has {len(entries)} entries and mounts beneath it")
    mode = os.stat(folder).st_mode & 0o7777
    mount("tmpfs", folder, "tmpfs", NO_SUID | NO_DEVICES, f"mode={mode:o}")
    for number, entry in enumerate(entries):
        source, target = f"/proc/self/fd/{before}/{entry}", os.path.join(folder, entry)
        with suppress(OSError):  # gone meanwhile, or another user's
            if os.path.islink(source):
                os.symlink(os.readlink(source), target)
            elif os.path.isfile(source):
                give_file(source, target)
            elif os.path.isdir(source):
                os.mkdir(target)
                if any((path + "/").startswith(target + "/") for path in mounted):
                    mount(source, target, None, BIND | RECURSIVE)
                else:
                    mount_overlay(source, target, upper, f"{name}-{number}")
    os.close(before)


def give_file(source: str, target: str) -> None:
    """A copy that can be written to; of a large file, the file itself, read-only."""
    if os.path.getsize(source) <= LARGEST_COPY:
        shutil.copy2(source, target)
    else:
        Path(target).touch()
        mount(source, target, None, BIND)


def mounted_beneath(folder: str) -> list[str]:
    """Outermost mount points inside a folder."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    points = [line.split()[4].replace("\\040", " ") for line in lines]
    return outermost(point for point in points if point.startswith(folder.rstrip("/") + "/"))


def outermost(folders: Iterable[str]) -> list[str]:
    """Existing folders, real paths, without those inside others."""
    kept: list[str] = []
    for folder in sorted({os.path.realpath(folder) for folder in folders if os.path.isdir(folder)}):
        if not any(folder == other or folder.startswith(other + "/") for other in kept):
            kept.append(folder)
    return kept


def unix_sockets() -> list[str]:
    """Paths of sockets that somebody listens to, which no network namespace hides."""
    with suppress(OSError):
        lines = Path("/proc/net/unix").read_text(errors="surrogateescape").splitlines()[1:]
        words = (line.split(maxsplit=7) for line in lines)
        return sorted({found[7] for found in words if len(found) == 8 and found[7][0] == "/"})
    return []


def loopback_up() -> None:
    """So that processes inside can talk to each other."""
    import fcntl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        request = struct.pack("16sh14x", b"lo", UP_AND_RUNNING)
        fcntl.ioctl(made.fileno(), SET_INTERFACE_FLAGS, request)


def give_up_rights() -> None:
    """For good: whoever was root in the namespaces could mount its way out of them."""
    kept = FOR_FILES if os.geteuid() == 0 else frozenset()
    call("prctl", NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    for number in range(LAST_CAPABILITY + 1):
        if number not in kept:
            with suppress(OSError):  # this kernel has fewer
                call("prctl", DROP_CAPABILITY, number, 0, 0, 0)
    bits = sum(1 << number for number in kept)
    header = struct.pack("Ii", CAPABILITIES_VERSION, 0)
    call("capset", header, struct.pack("6I", bits, bits, 0, 0, 0, 0))


# ---------------------------------------------------------------- the kernel


def mount(
    source: str | None, target: str, kind: str | None, flags: int, options: str | None = None
) -> None:
    words = (os.fsencode(word) if word is not None else None for word in (source, target, kind))
    call("mount", *words, ctypes.c_ulong(flags), options.encode() if options else None)


def change_attributes(path: str, how: int, *, add: int = 0, remove: int = 0) -> None:
    attributes = struct.pack("4Q", add, remove, 0, 0)
    size = ctypes.c_size_t(len(attributes))
    call("syscall", MOUNT_SETATTR, RELATIVE_TO_CWD, os.fsencode(path), how, attributes, size)
