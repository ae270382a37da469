"""Has the kernel refuse sockets but for connected pairs, what outlives processes, and looking into
other processes, for a process and its children; changes of files' owners, modes and times, and of
how others are scheduled, are not made."""

import ctypes
import errno
import platform
import struct
from dataclasses import dataclass

NO_NEW_PRIVILEGES, SET_SECCOMP, FILTER = 38, 22, 2
LOAD, EQUAL, AT_LEAST, AND, RETURN = 0x20, 0x15, 0x35, 0x54, 0x06
ALLOW, FAIL = 0x7FFF0000, 0x00050000
SYSTEM_CALL, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16
"""Where these lie in what a filter is shown."""
OTHER_NUMBERING = 0x40000000
"""From here on: the same calls once more, for programs with short pointers (x32)."""
FAMILIES = (1, 2, 10, 17)
"""Unix, internet 4 and 6, packets."""
KIND_OF_SOCKET, STREAM, SEQUENCED = 0xF, 1, 5
FLAGS_OF_FILES = (0x40086602, 0x40046602, 0x401C5820)
"""FS_IOC_SETFLAGS, the same in 32 bits, and FS_IOC_FSSETXATTR: taken from whoever may read."""

Instruction = tuple[int, int, int, int]
TAKE: Instruction = (RETURN, 0, 0, ALLOW)
REFUSE: Instruction = (RETURN, 0, 0, FAIL | errno.EPERM)
DENY: Instruction = (RETURN, 0, 0, FAIL | errno.EACCES)
PRETEND: Instruction = (RETURN, 0, 0, FAIL)


@dataclass(frozen=True, slots=True)
class Calls:
    """Numbers of system calls on a machine."""

    architecture: int
    keys: tuple[int, ...]
    """add_key, request_key, keyctl: keys that outlive the process that made them."""
    refused: tuple[int, ...]
    """ptrace, mount, umount2, process_vm_readv, process_vm_writev; io_uring_setup, through which
    sockets are opened that no filter sees; shared memory, semaphores and queues of System V and
    POSIX, which stay when all processes have ended."""
    pretended: tuple[int, ...]
    """Change owner, mode, times or attributes of a file, or a priority: these succeed and do
    nothing, since a filter does not see which file or process is meant."""
    scheduling: tuple[int, ...]
    """sched_setparam, sched_setscheduler, sched_setaffinity, sched_setattr."""
    limits: int
    socket: int
    pair: int
    command: int


CALLS = {
    "x86_64": Calls(
        architecture=0xC000003E,
        keys=(248, 249, 250),
        refused=(
            *(101, 165, 166, 310, 311, 425),
            *(29, 30, 31, 64, 65, 66, 68, 69, 70, 71, 220, 240, 241),
        ),
        pretended=(
            *(90, 91, 92, 93, 94, 132, 141, 188, 189, 190, 197, 198, 199, 235, 251, 260, 261, 268),
            *(280, 452, 463, 466, 469),
        ),
        scheduling=(142, 144, 203, 314),
        limits=302,
        socket=41,
        pair=53,
        command=16,
    ),
    "aarch64": Calls(
        architecture=0xC00000B7,
        keys=(217, 218, 219),
        refused=(
            *(117, 40, 39, 270, 271, 425),
            *(180, 181, 186, 187, 188, 189, 190, 191, 192, 193, 194, 195, 196),
        ),
        pretended=(*(5, 6, 7, 14, 15, 16, 30, 52, 53, 54, 55, 88, 140, 452, 463, 466, 469),),
        scheduling=(118, 119, 122, 274),
        limits=261,
        socket=198,
        pair=199,
        command=29,
    ),
}


def restrict(*, alone: bool) -> bool:
    """Whether the kernel took it; `alone`: there are no namespaces, which hold most of it."""
    calls = CALLS.get(platform.machine())
    if calls is None or platform.system() != "Linux":
        return False
    program = b"".join(struct.pack("HBBI", *step) for step in filter_for(calls, alone=alone))
    code = ctypes.create_string_buffer(program, len(program))
    shown = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0):
        return False
    return bool(libc.prctl(SET_SECCOMP, FILTER, shown, 0, 0) == 0)


def filter_for(calls: Calls, *, alone: bool) -> list[Instruction]:
    """Programs of another architecture, or of another numbering, are refused whatever they ask."""
    checks: list[Instruction] = [
        (LOAD, 0, 0, ARCHITECTURE),
        (EQUAL, 1, 0, calls.architecture),
        REFUSE,
        (LOAD, 0, 0, SYSTEM_CALL),
        (AT_LEAST, 0, 1, OTHER_NUMBERING),
        REFUSE,
    ]
    for number in calls.keys:
        checks += on(number, [REFUSE])
    if alone:
        checks += [step for number in calls.refused for step in on(number, [REFUSE])]
        checks += [step for number in calls.pretended for step in on(number, [PRETEND])]
        for number in calls.scheduling:
            checks += on(number, [*unless(argument(0), 0, PRETEND), TAKE])
        checks += on(calls.limits, limits_of_others())
        checks += on(calls.socket, [*when(argument(0), FAMILIES, DENY), TAKE])
        checks += on(calls.pair, connected_for_good())
        checks += on(calls.command, [*when(argument(1), FLAGS_OF_FILES, PRETEND), TAKE])
    return [*checks, TAKE]


def on(number: int, steps: list[Instruction]) -> list[Instruction]:
    """What is done about one system call; the steps end in an answer."""
    return [(EQUAL, 0, len(steps), number), *steps]


def argument(number: int) -> int:
    """Where its lower half lies."""
    return FIRST_ARGUMENT + 8 * number


def when(place: int, values: tuple[int, ...], answer: Instruction) -> list[Instruction]:
    tests = [step for value in values for step in ((EQUAL, 0, 1, value), answer)]
    return [(LOAD, 0, 0, place), *tests]


def unless(place: int, value: int, answer: Instruction) -> list[Instruction]:
    return [(LOAD, 0, 0, place), (EQUAL, 1, 0, value), answer]


def limits_of_others() -> list[Instruction]:
    """Its own are changed, those of others asked: the third argument is where new ones stand."""
    asked = [*when(argument(0), (0,), TAKE), *unless(argument(2), 0, PRETEND)]
    return [*asked, *unless(argument(2) + 4, 0, PRETEND), TAKE]


def connected_for_good() -> list[Instruction]:
    """Datagrams of a pair can be led to any socket."""
    kind = [(LOAD, 0, 0, argument(1)), (AND, 0, 0, KIND_OF_SOCKET)]
    return [*kind, (EQUAL, 1, 0, STREAM), (EQUAL, 0, 1, SEQUENCED), TAKE, DENY]
