"""A process that runs one call of surefit after another, in bounds of memory, and says what it saw.

It is told a folder and a command line in each line of its input, and answers in a line of JSON.
"""

import contextlib
import ctypes
import io
import json
import os
import resource
import sys
import traceback
import warnings
from pathlib import Path
from unittest.mock import patch

MIB = 1 << 20
FREE = 4 << 30
DAC_OVERRIDE, DAC_READ_SEARCH = 1, 2
"""Capabilities with which the administrator reads files that nobody may read."""


def give_up_reading_everything() -> None:
    """So that a file without permissions is one for the administrator, too."""
    if os.geteuid() != 0:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    head = (ctypes.c_uint32 * 2)(0x20080522, 0)
    sets = (ctypes.c_uint32 * 6)()
    libc.capget(head, sets)
    for at in (0, 1):  # effective and permitted
        sets[at] &= ~(1 << DAC_OVERRIDE | 1 << DAC_READ_SEARCH)
    libc.capset(head, sets)


def status(name: str) -> int:
    """A line of /proc/self/status, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) * 1024


def warm_up() -> None:
    """Everything that readers import, and what they keep: no file's memory is charged for it."""
    import datasets  # noqa: F401
    import peft  # noqa: F401
    import torch
    import transformers  # noqa: F401

    from surefit.cli import main

    # What is refused does not depend on this machine.
    patch("surefit.data.features.files.free_memory", lambda: FREE).start()
    torch.set_num_threads(1)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        main(["inspect", "embedded"])
        main(["lint", __file__])


def run(folder: str, arguments: list[str]) -> dict[str, object]:
    from surefit.cli import main

    os.chdir(folder)
    out = Path(folder, "..", "output").resolve()
    before = status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins again
    escaped = ""
    with (
        out.open("w", encoding="utf-8", errors="surrogatepass") as written,
        contextlib.redirect_stdout(written),
        contextlib.redirect_stderr(written),
    ):
        try:
            code = main(arguments)
        except BaseException:  # noqa: BLE001 - that nothing comes out is what is looked at
            code, escaped = -1, traceback.format_exc()
    said = out.read_text(encoding="utf-8", errors="surrogatepass") + escaped
    return {
        "code": code,
        "said": said[-20_000:],
        "escaped": bool(escaped) or "This is a bug in surefit" in said,
        "memory": max(0, status("VmHWM") - before),
        "loud": loud(said),
    }


def loud(said: str) -> bool:
    """Something that a terminal would obey, or that nobody would see."""
    return any(
        (ord(c) < 32 and c != "\n")
        or 127 <= ord(c) < 160
        or c in HIDDEN
        or 0xD800 <= ord(c) < 0xE000
        for c in said
    )


HIDDEN = frozenset(
    "\u061c\u200b\u200c\u200d\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e"
    "\u2060\u2061\u2062\u2063\u2064\u2066\u2067\u2068\u2069\ufeff"
)


def main() -> None:
    limit = int(sys.argv[1]) * MIB
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what libraries print past Python
    os.dup2(1, 2)
    warnings.simplefilter("ignore")
    warm_up()
    give_up_reading_everything()
    allowed = status("VmSize") + limit
    resource.setrlimit(resource.RLIMIT_AS, (allowed, allowed))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        folder, arguments = json.loads(line)
        print(json.dumps(run(folder, arguments)), file=answers, flush=True)


if __name__ == "__main__":
    main()
