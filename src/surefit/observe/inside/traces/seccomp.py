"""Has the kernel refuse sockets but for connected pairs, and looking into other processes, for a
process and its children; changes of files' owners, modes and times are not made."""

import ctypes
import errno
import platform
import struct
from dataclasses import dataclass

NO_NEW_PRIVILEGES, SET_SECCOMP, FILTER = 38, 22, 2
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, FAIL = 0x7FFF0000, 0x00050000
SYSTEM_CALL, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16
"""Where these lie in what a filter is shown."""
UNIX, INTERNET, INTERNET_6, PACKETS = 1, 2, 10, 17

Instruction = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Calls:
    """Numbers of system calls on a machine."""

    architecture: int
    socket: int
    refused: tuple[int, ...]
    """ptrace, mount, umount2, process_vm_readv, process_vm_writev, and io_uring_setup, through
    which sockets are opened that no filter sees."""
    pretended: tuple[int, ...]
    """Change owner, mode, times or attributes of a file, or a priority: these succeed and do
    nothing, since a filter does not see which file or process is meant."""


CALLS = {
    "x86_64": Calls(
        0xC000003E,
        41,
        (101, 165, 166, 310, 311, 425),
        (
            90,
            91,
            92,
            93,
            94,
            132,
            141,
            188,
            189,
            190,
            197,
            198,
            199,
            235,
            260,
            261,
            268,
            280,
            452,
            463,
            466,
        ),
    ),
    "aarch64": Calls(
        0xC00000B7,
        198,
        (117, 40, 39, 270, 271, 425),
        (5, 6, 7, 14, 15, 16, 52, 53, 54, 55, 88, 140, 452, 463, 466),
    ),
}


def restrict() -> bool:
    """Whether the kernel took it."""
    calls = CALLS.get(platform.machine())
    if calls is None or platform.system() != "Linux":
        return False
    program = b"".join(struct.pack("HBBI", *instruction) for instruction in filter_for(calls))
    code = ctypes.create_string_buffer(program, len(program))
    shown = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0):
        return False
    return bool(libc.prctl(SET_SECCOMP, FILTER, shown, 0, 0) == 0)


def filter_for(calls: Calls) -> list[Instruction]:
    """Programs of another architecture are refused whatever they ask for."""
    no_access, not_permitted, nothing = FAIL | errno.EACCES, FAIL | errno.EPERM, FAIL
    families = (UNIX, INTERNET, INTERNET_6, PACKETS)
    checks: list[Instruction] = [
        (LOAD, 0, 0, ARCHITECTURE),
        (EQUAL, 1, 0, calls.architecture),
        (RETURN, 0, 0, not_permitted),
        (LOAD, 0, 0, SYSTEM_CALL),
    ]
    for number in calls.refused:
        checks += [(EQUAL, 0, 1, number), (RETURN, 0, 0, not_permitted)]
    for number in calls.pretended:
        checks += [(EQUAL, 0, 1, number), (RETURN, 0, 0, nothing)]
    checks += [(EQUAL, 0, 1 + 2 * len(families), calls.socket), (LOAD, 0, 0, FIRST_ARGUMENT)]
    for family in families:
        checks += [(EQUAL, 0, 1, family), (RETURN, 0, 0, no_access)]
    return [*checks, (RETURN, 0, 0, ALLOW)]
