"""What a path can be beside a plain file, what a name can be, and bytes changed at random."""

import os
import socket
from collections.abc import Callable
from pathlib import Path
from random import Random

Write = Callable[[Random, Path], None]
"""Puts something hostile at a path."""


def fifo(_: Random, path: Path) -> None:
    os.mkfifo(path)


def unix_socket(_: Random, path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # the name of a socket may have 107 bytes
    try:
        with socket.socket(socket.AF_UNIX) as opened:
            opened.bind(path.name)
    finally:
        os.chdir(here)


def device(random: Random, path: Path) -> None:
    path.symlink_to(random.choice(("/dev/zero", "/dev/urandom", "/dev/full", "/dev/null")))


def loop(_: Random, path: Path) -> None:
    path.symlink_to(path.name)


def dangling(_: Random, path: Path) -> None:
    path.symlink_to("nowhere\x1b[31m")


def endless_process_file(random: Random, path: Path) -> None:
    path.symlink_to(random.choice(("/proc/kmsg", "/proc/self/mem", "/proc/self/environ")))


def folder(_: Random, path: Path) -> None:
    path.mkdir()


def unreadable(_: Random, path: Path) -> None:
    path.write_bytes(b"x")
    path.chmod(0)


def empty(_: Random, path: Path) -> None:
    path.write_bytes(b"")


def sparse(random: Random, path: Path) -> None:
    """Gigabytes of zeros that take no room."""
    with path.open("wb") as file:
        file.truncate(random.choice((1 << 31, 1 << 34, 1 << 40)))


ODDITIES: dict[str, Write] = {
    "FIFO": fifo,
    "socket": unix_socket,
    "device": device,
    "link to itself": loop,
    "link to nothing": dangling,
    "file of a process": endless_process_file,
    "folder": folder,
    "unreadable": unreadable,
    "empty": empty,
    "sparse": sparse,
}

ODD_NAMES = (
    os.fsdecode(b"\xff\xfe"),
    "\x1b]0;title\x07\x1b[31mred",
    "\u202egnp.\u2066",
    "new\nline\r\t",
    "zero\u200bwidth\ufeff",
    "--help",
    "-",
    "a b'\"$(touch executed)`touch executed`",
    "[bold]markup[/] :smile: {0} %s",
    "x" * 240,
    "\x7f\x9b31m",
)


def odd_name(random: Random, suffix: str) -> str:
    """At most 255 bytes, but for one in eight: no file can have such a name."""
    if random.random() < 0.125:
        return "long" * 80 + suffix
    return random.choice(ODD_NAMES) + suffix


def mutated(random: Random, whole: bytes) -> bytes:
    """Valid bytes after one to four accidents."""
    raw = bytearray(whole)
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        random.choice(ACCIDENTS)(random, raw)
    return bytes(raw)


def cut_off(random: Random, raw: bytearray) -> None:
    del raw[random.randrange(len(raw) + 1) :]


def begins_late(random: Random, raw: bytearray) -> None:
    del raw[: random.randrange(len(raw) + 1)]


def flipped(random: Random, raw: bytearray) -> None:
    for _ in range(random.choice((1, 1, 8, 64))):
        if raw:
            raw[random.randrange(len(raw))] ^= 1 << random.randrange(8)


def flipped_at_an_end(random: Random, raw: bytearray) -> None:
    """Headers and footers are where lengths stand."""
    for _ in range(random.choice((1, 2, 4))):
        if raw:
            at = random.randrange(min(200, len(raw)))
            raw[random.choice((at, -1 - at))] = random.randrange(256)


def put_in(random: Random, raw: bytearray) -> None:
    at = random.randrange(len(raw) + 1)
    raw[at:at] = random.choice(INSERTED)


def doubled(random: Random, raw: bytearray) -> None:
    begin = random.randrange(len(raw) + 1)
    part = raw[begin : begin + random.choice((1, 20, 1000))]
    raw[begin:begin] = part * random.choice((1, 2, 50))


def with_a_hole(random: Random, raw: bytearray) -> None:
    begin = random.randrange(len(raw) + 1)
    end = min(len(raw), begin + random.choice((4, 64, 4096)))
    raw[begin:end] = bytes(end - begin)


def with_a_number(random: Random, raw: bytearray) -> None:
    """A length that is another."""
    digits = [at for at, byte in enumerate(raw) if 48 <= byte <= 57]
    if digits:
        at = random.choice(digits)
        raw[at : at + 1] = random.choice((b"-1", b"0", b"9" * 18, b"9" * 5000, b"1e999", b"NaN"))


ACCIDENTS = (
    *(cut_off, begins_late, flipped, flipped_at_an_end, put_in, doubled, with_a_hole),
    with_a_number,
)
INSERTED = (
    *(b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\xff\xfe\0\0", b"\x1b[31m\x1b]0;title\x07"),
    *("\u202e\u2066\u200b\u2028".encode(), b"\xed\xa0\x80", b"\r", b"\n", b"\n\n", b'"', b"'"),
    *(b",", b"{", b"[" * 5000, b"}", b"\\", b"\\u0000", b"\\ud800", b"NaN", b"null", b"\x85"),
    *(b"<script>alert(1)</script>", b"%s%n", b"\xf0\x9f\x98\x80", b" " * 10_000, b"\0" * 512),
)
