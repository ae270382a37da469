"""A program to start in place of Python, for real processes that need not import their libraries.

Each becomes a fork of one Python that has torch, transformers and the recipes imported. What was
started stays beside it: it passes signals on, ends as the fork ends, and takes the fork with it
when it is killed.

    python preloaded.py FOLDER      # the Python to fork from, until its standard input is closed
"""

import atexit
import gc
import json
import os
import random
import runpy
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

ASKING = """\
#!{python} -IS
import json, os, signal, socket, struct, sys
line = socket.socket(socket.AF_UNIX)
line.connect({address!r})
asked = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
socket.send_fds(line, [struct.pack("i", len(asked))], [0, 1, 2])
line.sendall(asked)
fork, = struct.unpack("i", line.recv(4))
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, lambda number, frame: os.kill(fork, number))
code, = struct.unpack("i", line.recv(4))
if code < 0:
    signal.signal(-code, signal.SIG_DFL) if code != -signal.SIGKILL else None
    os.kill(os.getpid(), -code)
os._exit(code)
"""


@cache
def python() -> str:
    """The path of that program, as long as this process lives."""
    folder = tempfile.TemporaryDirectory(prefix="preloaded-")
    program = Path(folder.name) / "python"
    address = str(Path(folder.name) / "socket")
    program.write_text(ASKING.format(python=sys.executable, address=address))
    program.chmod(0o700)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen()
    with listener:
        server = subprocess.Popen(
            [sys.executable, __file__, str(listener.fileno())],
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            pass_fds=[listener.fileno()],
        )
    atexit.register(server.communicate)
    atexit.register(folder.cleanup)
    return str(program)


# ---------------------------------------------------------------- the Python to fork from


def import_all() -> None:
    gc.disable()
    sys.path.insert(0, str(Path(__file__).parents[1]))
    import torch._dynamo
    import torch.distributed.fsdp  # noqa: F401

    from tools.faults.children import load_libraries

    load_libraries()
    del sys.path[:2]  # that, and the folder of this file
    gc.freeze()
    gc.enable()


def serve(listener: socket.socket) -> list[str]:
    """Returns in forks alone, with the words of their command."""
    while listener in select.select([listener, sys.stdin], [], [])[0]:
        line, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            return attend(line)
        line.close()
        with suppress(ChildProcessError):  # those that have ended
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
    os._exit(0)


def attend(line: socket.socket) -> list[str]:
    """Returns in a fork of its own; this process waits for that, and for who asked for it."""
    size, descriptors, _, _ = socket.recv_fds(line, 4, 3)
    asked = b""
    while len(asked) < struct.unpack("i", size)[0]:
        asked += line.recv(1 << 16)
    fork = os.fork()
    if fork == 0:
        line.close()
        return become(descriptors, *json.loads(asked))
    for descriptor in descriptors:
        os.close(descriptor)
    line.sendall(struct.pack("i", fork))
    asking = line.fileno()
    if asking in select.select([asking, os.pidfd_open(fork)], [], [])[0]:
        os.kill(fork, signal.SIGKILL)
    _, status = os.waitpid(fork, 0)
    with suppress(OSError):
        line.sendall(struct.pack("i", os.waitstatus_to_exitcode(status)))
    os._exit(0)


def become(
    descriptors: Sequence[int], words: list[str], folder: str, variables: dict[str, str]
) -> list[str]:
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdin, sys.stdout = (os.fdopen(number, mode) for number, mode in ((0, "r"), (1, "w")))
    sys.stderr = os.fdopen(2, "w", 1, errors="backslashreplace")
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    tempfile.tempdir = None
    random.seed()
    numpy, torch = (sys.modules[name] for name in ("numpy", "torch"))
    numpy.random.seed()
    torch.seed()
    return words


def run(words: list[str]) -> None:
    """`python WORDS`, with `-m MODULE` or a script."""
    if words[0] == "-m":
        sys.path.insert(0, str(Path.cwd()))
        sys.argv[:] = words[1:]
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, str(Path(words[0]).resolve().parent))
        sys.argv[:] = words
        runpy.run_path(words[0], run_name="__main__")


if __name__ == "__main__":
    import short_ends  # noqa: F401

    import_all()
    run(serve(socket.socket(fileno=int(sys.argv[1]))))
