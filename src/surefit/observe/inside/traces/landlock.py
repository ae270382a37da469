"""Has the kernel refuse writes and signals to what is outside a sandbox, for a process and its
children.

Landlock, in Linux since 5.13; truncation is governed since 6.2, commands to devices since 6.10,
signals and abstract sockets since 6.12.
"""

import os
import stat
import struct
from collections.abc import Sequence

from surefit.observe.inside.spool import could_not

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
ASK_VERSION = 1
BENEATH_A_PATH = 1
SET_NO_NEW_PRIVILEGES = 38

TO_FILES = 1 << 1 | 1 << 14
"""Write to and truncate a file."""
TO_FOLDERS = sum(1 << bit for bit in range(4, 13))
"""Remove folders and files in a folder, and make any kind of thing in it."""
ACROSS_FOLDERS = 1 << 13
TO_DEVICES = 1 << 15
"""Commands (`ioctl`), which a terminal takes from whoever may read it."""
TO_OTHERS = 1 << 0 | 1 << 1
"""Connect to abstract sockets of processes outside, and send signals to these."""


def restrict(free: Sequence[str], existing: Sequence[str]) -> bool:
    """From now on this process writes to these folders only, and to existing files and devices at
    or beneath `existing`; whether the kernel took it."""
    try:
        return _restrict(free, existing)
    except (OSError, AttributeError) as error:
        could_not("writes of compiled code in the sandbox", error)
        return False


def _restrict(free: Sequence[str], existing: Sequence[str]) -> bool:
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(CREATE_RULESET, None, 0, ASK_VERSION)
    if version < 3:  # truncation is not governed before
        return False
    files = TO_FILES | (TO_DEVICES if version >= 5 else 0)
    rights = files | TO_FOLDERS | ACROSS_FOLDERS
    raw = struct.pack("3Q", rights, 0, TO_OTHERS) if version >= 6 else struct.pack("Q", rights)
    wanted = ctypes.create_string_buffer(raw, len(raw))
    rules = _checked(libc.syscall(CREATE_RULESET, wanted, len(raw), 0))
    try:
        for path in free:
            _allow(libc, rules, path, rights, files)
        for path in existing:
            _allow(libc, rules, path, files, files)
        _checked(libc.prctl(SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
        _checked(libc.syscall(RESTRICT_SELF, rules, 0))
    finally:
        os.close(rules)
    return True


def _allow(libc: object, rules: int, path: str, rights: int, of_files: int) -> None:
    import ctypes

    try:
        folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        allowed = rights if stat.S_ISDIR(os.fstat(folder).st_mode) else rights & of_files
        raw = allowed.to_bytes(8, "little") + folder.to_bytes(4, "little")
        rule = ctypes.create_string_buffer(raw, 12)
        _checked(libc.syscall(ADD_RULE, rules, BENEATH_A_PATH, rule, 0))  # type: ignore[attr-defined]
    finally:
        os.close(folder)


def _checked(result: int) -> int:
    import ctypes

    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
