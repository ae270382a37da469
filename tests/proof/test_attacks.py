"""Nothing that a script does in a trial gets out: every attack, behind both kinds of walls."""

import ctypes
import fcntl
import os
import resource
import socket
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import pytest

from attacks import FILES, MESSAGES, PROCESSES
from surefit.observe.inside import spool
from surefit.observe.inside.traces import namespaces, outside, walls

pytestmark = pytest.mark.slow

SOURCE = str(Path(walls.__file__).parents[4])
ATTACKS = {**FILES, **MESSAGES, **PROCESSES}
SCRIPT = """
import os, signal, sys
sys.path.insert(0, {source!r})
from surefit.observe.inside.traces import traces, walls
assert walls.build() == {layer!r}
if {hooks!r}:
    traces.install()
globals().update({names!r})
for name, code in {attacks!r}.items():
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        parent = os.fork()  # may be killed
        if parent:
            os.waitpid(parent, 0)
            os._exit(0)
        signal.alarm(20)
        os.environ["SUREFIT_MAIN_PID"] = str(os.getpid())
        try:
            exec(code, dict(globals()))
        except BaseException:
            pass
        os._exit(0)
    os.waitpid(child, 0)
open("all-tried", "w")
"""
LIBC = ctypes.CDLL(None, use_errno=True)
INPUT_OUTPUT_PRIORITY = 252
"""The system call that asks for it."""
FLAGS_OF_A_FILE = 0x80086601


def flags_of(file: Path) -> int:
    with file.open() as opened:
        raw = fcntl.ioctl(opened, FLAGS_OF_A_FILE, bytes(8))
    return int(struct.unpack("l", raw)[0])


def said_by_the_kernel(path: str) -> str:
    """Nothing where it was built without."""
    return Path(path).read_text() if Path(path).exists() else ""


def kernel_log() -> str:
    """Nothing where only root may read it."""
    done = subprocess.run(["dmesg"], capture_output=True, text=True, check=False)
    return done.stdout


@dataclass
class World:
    """What is outside of a sandbox, and what became of it."""

    root: Path
    mark: str = field(default_factory=lambda: f"surefit-attack-{uuid4().hex[:8]}")
    received: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        for name in ("elsewhere", "temporary", "home/.cache"):
            (self.root / name).mkdir(parents=True)
        for name in ("elsewhere/old", "temporary/old", "home/.cache/model", "home/.bashrc"):
            (self.root / name).write_text("old")
        self.key = int(uuid4().hex[:7], 16)
        self.shared = Path("/dev/shm") / f"{self.mark}-old"
        self.shared.write_text("old")
        self.bystander = subprocess.Popen(["sleep", "300"], start_new_session=True)
        self.tcp = self.listening(socket.socket(), ("127.0.0.1", 0))[1]
        datagrams = socket.socket(type=socket.SOCK_DGRAM)
        datagrams.bind(("127.0.0.1", 0))
        self.udp = datagrams.getsockname()[1]
        threading.Thread(target=self.datagram, args=(datagrams,), daemon=True).start()
        self.unix = str(self.root / "elsewhere" / "service")
        self.listening(socket.socket(socket.AF_UNIX), self.unix)
        self.listening(socket.socket(socket.AF_UNIX), f"\0{self.mark}")
        for address in (f"{self.unix}-datagrams", f"\0{self.mark}-datagrams"):
            log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            log.bind(address)
            threading.Thread(target=self.datagram, args=(log,), daemon=True).start()
        os.mkfifo(self.root / "elsewhere" / "pipe")
        pipe = os.open(self.root / "elsewhere" / "pipe", os.O_RDWR)
        threading.Thread(target=self.bytes_of, args=(pipe,), daemon=True).start()
        screen, self.window = os.openpty()
        self.terminal = os.ttyname(self.window)
        threading.Thread(target=self.bytes_of, args=(screen,), daemon=True).start()

    def listening(self, server: socket.socket, address: object) -> tuple[str, int]:
        server.bind(address)  # type: ignore[arg-type]
        server.listen()
        threading.Thread(target=self.accept, args=(server,), daemon=True).start()
        name: tuple[str, int] = server.getsockname()
        return name

    def accept(self, server: socket.socket) -> None:
        with suppress(OSError):
            while True:
                connection, _ = server.accept()
                self.received.append(f"a connection to {server.getsockname()}")
                connection.close()

    def datagram(self, server: socket.socket) -> None:
        with suppress(OSError):
            while True:
                self.received.append(f"a datagram {server.recv(100)!r}")

    def bytes_of(self, descriptor: int) -> None:
        with suppress(OSError):
            while True:
                self.received.append(f"{os.read(descriptor, 100)!r} by a pipe or a terminal")

    @property
    def names(self) -> dict[str, object]:
        """As the attacks know them."""
        folders = {name: str(self.root / name) for name in ("elsewhere", "temporary", "home")}
        numbers = {"tcp": self.tcp, "udp": self.udp, "bystander": self.bystander.pid}
        return {
            **folders,
            **numbers,
            "unix": self.unix,
            "mark": self.mark,
            "terminal": self.terminal,
            "key": self.key,
        }

    def state(self) -> dict[str, object]:
        """All that an attack could have changed."""
        files = {
            str(path): (status.st_mode, status.st_uid, status.st_mtime_ns, os.listxattr(path))
            for path in sorted(self.root.rglob("*"))
            if not path.is_relative_to(self.root / "run")
            and not path.is_relative_to(self.root / "spool")
            for status in [path.lstat()]
        }
        content = {path: Path(path).read_text() for path in files if Path(path).is_file()}
        memory = {path.name: path.read_text() for path in Path("/dev/shm").glob(f"{self.mark}*")}
        kernel = {
            "queue": LIBC.mq_unlink(f"/{self.mark}".encode()) == 0,
            "segments": f" {self.key} " in said_by_the_kernel("/proc/sysvipc/shm"),
            "keys": self.mark in said_by_the_kernel("/proc/keys"),
            "flags": flags_of(self.root / "elsewhere" / "old"),
            "terminal": (termios.tcgetattr(self.window), os.get_terminal_size(self.window)),
            "kernel log": self.mark in kernel_log(),
        }
        return {**files, **content, **memory, **kernel, "bystander": self.look_at_bystander()}

    def look_at_bystander(self) -> tuple[object, ...]:
        process = self.bystander.pid
        if self.bystander.poll() is not None:
            return ("ended",)
        return (
            os.getpriority(os.PRIO_PROCESS, process),
            os.sched_getscheduler(process),
            os.sched_getaffinity(process),
            resource.prlimit(process, resource.RLIMIT_NOFILE),
            LIBC.syscall(INPUT_OUTPUT_PRIORITY, 1, process),
            Path(f"/proc/{process}/oom_score_adj").read_text(),
        )

    def close(self) -> None:
        self.bystander.kill()
        self.bystander.wait()
        self.shared.unlink(missing_ok=True)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path.resolve())
    yield made
    made.close()


def left_running(world: World) -> list[str]:
    """Processes that were started with this test's sandbox in their environment."""
    wanted = f"{outside.SANDBOX}={world.root}".encode()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if wanted in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_text())
    return found


@pytest.mark.parametrize(
    ("layer", "hooks"),
    [("namespaces", True), ("namespaces", False), ("landlock", True), ("landlock", False)],
    ids=[
        "namespaces",
        "namespaces without audit hooks",
        "landlock",
        "landlock without audit hooks",
    ],
)
def test_nothing_gets_out(world: World, layer: str, hooks: bool) -> None:
    run, spooled = world.root / "run", world.root / "spool"
    run.mkdir()
    spooled.mkdir()
    text = SCRIPT.format(
        source=SOURCE, layer=layer, hooks=hooks, names=world.names, attacks=ATTACKS
    )
    (run / "train.py").write_text(text)
    before = world.state()
    environment = {
        **os.environ,
        "HOME": str(world.root / "home"),
        "TMPDIR": str(world.root / "temporary"),
        outside.SANDBOX: str(run),
        spool.FOLDER: str(spooled),
        **({namespaces.NOT_ISOLATED: "1"} if layer != "namespaces" else {}),
    }
    done = subprocess.run(
        [sys.executable, "train.py"],
        cwd=run,
        env=environment,
        start_new_session=True,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (run / "all-tried").exists()
    time.sleep(0.2)
    assert world.received == []
    assert world.state() == before
    assert left_running(world) == []


def test_there_are_as_many_attacks_as_promised() -> None:
    assert len(ATTACKS) >= 100
