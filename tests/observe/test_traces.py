"""What a process writes, talks to and starts outside itself, in real processes."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from surefit.observe.inside.spool import FOLDER
from surefit.observe.inside.traces import namespaces, outside, traces, walls

SOURCE = str(Path(traces.__file__).parents[4])
START = (
    "import sys; sys.path.insert(0, {!r})"
    "; from surefit.observe.inside.traces import outside, traces, walls; import os"
    "; os.environ.get(outside.SANDBOX) and walls.build(); traces.install()\n"
)


@dataclass
class Place:
    """A folder to run in, one outside of it, and a temporary one that is neither."""

    root: Path
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("run", "elsewhere", "temporary", "spool", "home"):
            (self.root / name).mkdir()

    @property
    def run(self) -> Path:
        return self.root / "run"

    @property
    def elsewhere(self) -> Path:
        return self.root / "elsewhere"

    def python(
        self, code: str, *words: str, start: str = START
    ) -> "subprocess.CompletedProcess[str]":
        (self.run / "train.py").write_text(start.format(SOURCE) + code)
        kept = {
            name: value
            for name, value in os.environ.items()
            if name not in outside.CACHES + outside.TEMPORARY
        }
        return subprocess.run(
            [sys.executable, "train.py", *words],
            cwd=self.run,
            capture_output=True,
            text=True,
            check=False,
            start_new_session=True,
            env={
                **kept,
                "TMPDIR": str(self.root / "temporary"),
                "HOME": str(self.root / "home"),
                FOLDER: str(self.root / "spool"),
                **self.environment,
            },
        )

    def sandboxed(self, layer: str = "namespaces") -> "Place":
        self.environment[outside.SANDBOX] = str(self.run)
        if layer != "namespaces":
            self.environment[namespaces.NOT_ISOLATED] = "1"
        return self

    def lines(self, kind: str) -> list[dict[str, str]]:
        lines = [
            json.loads(line)
            for file in sorted((self.root / "spool").glob("*.jsonl"))
            for line in file.read_text().splitlines()
        ]
        assert {line["saw"] for line in lines} <= {"Trace", "Confined"}, lines
        return [line for line in lines if line["saw"] == kind]

    def noted(self) -> list[tuple[str, str]]:
        return [(line["what"], line["where"]) for line in self.lines("Trace")]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path.resolve())


@pytest.fixture(params=["namespaces", "landlock"])
def layer(request: pytest.FixtureRequest) -> str:
    """What of the kernel keeps a sandbox closed; both are there on the machines that test this."""
    return str(request.param)


@pytest.fixture
def listener() -> Iterator[int]:
    """Something on this machine that answers; gives its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_own_files_are_not_noted(place: Place) -> None:
    done = place.python(
        "import os, tempfile, pathlib\n"
        "open('own.txt', 'w').close()\n"
        "os.makedirs('out/deep'); os.rename('own.txt', 'out/own.txt')\n"
        "tempfile.NamedTemporaryFile().close()\n"
        "cache = pathlib.Path.home() / '.cache' / 'huggingface'; cache.mkdir(parents=True)\n"
        "(cache / 'weights').write_text('x')\n"
        "open('/dev/null', 'w').close()\n"
        "print(open('/etc/hostname').read() and 'read')\n"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "read\n", "")
    assert place.noted() == []


def test_caches_that_the_script_names_itself_are_not_noted(place: Place) -> None:
    place.python(
        f"import os; os.environ['HF_HOME'] = {str(place.elsewhere / 'hub')!r}\n"
        "os.mkdir(os.environ['HF_HOME']); open(os.environ['HF_HOME'] + '/token', 'w').close()\n"
    )
    assert (place.elsewhere / "hub" / "token").exists()
    assert place.noted() == []


WRITING = {
    "open": "open(there + '/new', 'w').close()",
    "append": "open(there + '/old', 'a').close()",
    "low level": "os.close(os.open(there + '/new', os.O_CREAT | os.O_WRONLY))",
    "remove": "os.remove(there + '/old')",
    "folder": "os.mkdir(there + '/new')",
    "rename": "open('x', 'w').close(); os.rename('x', there + '/new')",
    "symbolic link": "os.symlink('x', there + '/new')",
    "hard link": "open('x', 'w').close(); os.link('x', there + '/new')",
    "truncate": "os.truncate(there + '/old', 0)",
    "chmod": "os.chmod(there + '/old', 0o600)",
    "database": "import sqlite3; sqlite3.connect(there + '/new').close()",
    "by a link": "os.symlink(there, 'link'); open('link/new', 'w').close()",
    "from a folder": "os.remove('old', dir_fd=os.open(there, os.O_RDONLY))",
    "tree": "import shutil; shutil.rmtree(there)",
}


@pytest.mark.parametrize("how", WRITING)
def test_what_is_written_elsewhere_is_noted_once(place: Place, how: str) -> None:
    (place.elsewhere / "old").write_text("old")
    done = place.python(f"import os; there = {str(place.elsewhere)!r}\n{WRITING[how]}\n")
    assert (done.returncode, done.stderr) == (0, "")
    what, where = zip(*place.noted(), strict=True)
    assert set(what) == {"wrote"}
    names = {str(place.elsewhere / "new"), str(place.elsewhere / "old"), str(place.elsewhere)}
    assert set(where) <= names
    assert len(where) == (2 if how == "tree" else 1)


@pytest.mark.parametrize("how", WRITING)
def test_a_sandbox_stops_before_anything_is_written(place: Place, how: str, layer: str) -> None:
    (place.elsewhere / "old").write_text("old")
    (place.elsewhere / "old").chmod(0o644)
    place.sandboxed(layer)
    done = place.python(
        f"import os; there = {str(place.elsewhere)!r}\n"
        f"try:\n    {WRITING[how]}\nfinally:\n    print('went on')\n"
    )
    assert (done.returncode, done.stdout) == (traces.STOPPED, ""), done.stderr
    assert [file.name for file in place.elsewhere.iterdir()] == ["old"]
    assert (place.elsewhere / "old").read_text() == "old"
    assert (place.elsewhere / "old").stat().st_mode & 0o777 == 0o644
    assert [what for what, _ in place.noted()] == ["wrote"]


def test_a_sandbox_writes_to_its_copy_and_to_temporary_files(place: Place, layer: str) -> None:
    place.sandboxed(layer)
    done = place.python(
        "import os, tempfile\n"
        "open('out.txt', 'w').close(); os.mkdir('deep'); os.rename('out.txt', 'deep/out.txt')\n"
        "tempfile.NamedTemporaryFile().close(); print('done')\n"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    assert place.noted() == []


def test_the_kernel_refuses_what_compiled_code_writes(place: Place, layer: str) -> None:
    place.sandboxed(layer)
    done = place.python(
        "import ctypes, os\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        f"made = libc.open({str(place.elsewhere / 'new')!r}.encode(), os.O_CREAT | os.O_WRONLY)\n"
        "print(made, os.strerror(ctypes.get_errno()))\n"
        "print(libc.open(b'own', os.O_CREAT | os.O_WRONLY, 0o600) > 0)\n"
    )
    why = "Read-only file system" if layer == "namespaces" else "Permission denied"
    assert done.stdout == f"-1 {why}\nTrue\n"
    assert list(place.elsewhere.iterdir()) == []
    assert [line["by"] for line in place.lines("Confined")] == [layer]


def test_without_walls_a_sandbox_does_not_begin(place: Place) -> None:
    place.sandboxed("none")
    code = "from unittest.mock import patch\nprint('went on')\n"
    start = START.replace("walls.build()", "(patch_walls(), walls.build())")
    started = (
        "def patch_walls():\n"
        "    from surefit.observe.inside.traces import landlock\n"
        "    landlock.restrict = lambda free, existing: False\n"
    )
    done = place.python(code, start=started + start)
    assert (done.returncode, done.stdout) == (traces.STOPPED, "")
    assert place.noted() == [("unprotected", "")]
    place.environment[walls.TRUSTED] = "1"
    assert place.python(code, start=started + start).stdout == "went on\n"


def test_a_child_process_in_a_sandbox_ends_the_whole_group(place: Place) -> None:
    """Stopped in a worker: the main process must not go on without it."""
    place.sandboxed()
    done = place.python(
        "import os, time\n"
        "os.environ['SUREFIT_MAIN_PID'] = str(os.getpid())\n"
        "if os.fork() == 0:\n"
        f"    open({str(place.elsewhere / 'new')!r}, 'w')\n"
        "time.sleep(60)\n"
    )
    assert done.returncode == -9
    assert place.noted() == [("wrote", str(place.elsewhere / "new"))]


def test_loopback_and_unix_sockets_are_inside(place: Place, listener: int) -> None:
    done = place.python(
        "import socket\n"
        f"socket.create_connection(('localhost', {listener})).close()\n"
        "server = socket.socket(socket.AF_UNIX); server.bind('here'); server.listen()\n"
        "client = socket.socket(socket.AF_UNIX); client.connect('here')\n"
        "left, right = socket.socketpair(); left.send(b'x'); print(right.recv(1))\n"
    )
    assert (done.stdout, done.stderr) == ("b'x'\n", "")
    assert place.noted() == []


NOBODY = "192.0.2.1"
"""Of a network that is set aside for documentation: nothing answers there."""
CONNECT = f"""
import socket
talk = socket.socket(); talk.setblocking(False)
try: talk.connect(({NOBODY!r}, 443))
except OSError: pass
datagram = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
try: datagram.sendto(b'x', ({NOBODY!r}, 53))
except OSError: pass
print('went on')
"""


def test_other_addresses_are_noted(place: Place) -> None:
    assert place.python(CONNECT).stdout == "went on\n"
    assert place.noted() == [("connected", f"{NOBODY}:443"), ("connected", f"{NOBODY}:53")]


def test_an_address_has_the_name_that_was_looked_up(place: Place) -> None:
    place.python(
        "import sys\n"
        "sys.audit('socket.getaddrinfo', 'hub.example', 443, 0, 1, 0)\n"
        f"sys.audit('socket.connect', None, ({NOBODY!r}, 443))\n"
        f"sys.audit('socket.connect', None, ({NOBODY!r}, 80))\n"
    )
    assert place.noted() == [("connected", "hub.example:443"), ("connected", f"{NOBODY}:80")]


def test_a_sandbox_stops_before_it_talks(place: Place) -> None:
    done = place.sandboxed().python(CONNECT)
    assert (done.returncode, done.stdout) == (traces.STOPPED, "")
    assert place.noted() == [("connected", f"{NOBODY}:443")]


def test_programs_that_cannot_be_watched_are_noted(place: Place) -> None:
    place.python(
        "import os, subprocess, sys\n"
        "subprocess.run(['uname', '-p'], capture_output=True)\n"
        "subprocess.run([sys.executable, '-c', 'pass'])\n"
        "subprocess.run('uname -s', shell=True, capture_output=True)\n"
        "subprocess.run(['true', 'a b'])\n"
        "subprocess.run('uname -s | cat', shell=True, capture_output=True)\n"
        "subprocess.run([sys.executable, '-uE', '-c', 'pass'])\n"
        "subprocess.run([sys.executable, '-c', '0'], env={})\n"
        "os.system('true')\n"
    )
    assert place.noted() == [
        ("started", "true 'a b'"),
        ("started", "uname -s | cat"),
        ("started", f"{sys.executable} -uE -c pass"),
        ("started", f"{sys.executable} -c 0"),
        ("started", "true"),
    ]


def test_a_program_that_python_runs_is_one_that_boots(place: Place) -> None:
    launcher = place.run / "launch"
    launcher.write_text(f"#!{sys.executable}\nprint('launched')\n")
    launcher.chmod(0o755)
    done = place.python("import subprocess\nsubprocess.run(['./launch'])\n")
    assert done.stdout == "launched\n"
    assert place.noted() == []


def test_the_folder_of_the_script_is_inside_wherever_it_is_run(place: Place) -> None:
    (place.elsewhere / "tool.py").write_text(
        START.format(SOURCE)
        + "import pathlib; pathlib.Path(__file__).with_name('beside').write_text('x')\n"
        + "pathlib.Path('here').write_text('x')\n"
        + f"pathlib.Path({str(place.root / 'neither')!r}).write_text('x')\n"
    )
    place.python(
        "import os, sys\n"
        "del os.environ['SUREFIT_INSIDE']\n"
        f"os.execv(sys.executable, [sys.executable, {str(place.elsewhere / 'tool.py')!r}])\n"
    )
    assert (place.elsewhere / "beside").exists()
    assert place.noted() == [("wrote", str(place.root / "neither"))]


def test_notes_end_somewhere(place: Place) -> None:
    place.python(f"for n in range(100): open({str(place.elsewhere)!r} + f'/{{n}}', 'w').close()\n")
    assert len(place.noted()) == traces.MOST_NOTES
    assert len(list(place.elsewhere.iterdir())) == 100


def test_a_failure_of_the_hook_is_not_the_script_s(place: Place) -> None:
    done = place.python(
        "def broken(*args, **kwargs): raise RuntimeError('boom')\n"
        "from surefit.observe.inside.traces import outside; outside.written_outside = broken\n"
        "for _ in range(3): open('own', 'w').close()\n"
        "print('went on')\n"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "went on\n", "")
    file = next((place.root / "spool").iterdir())
    (line,) = [json.loads(line) for line in file.read_text().splitlines()]
    assert line["saw"] == "NotObserved"
    assert line["why"].startswith("surefit failed: RuntimeError: boom")


@pytest.mark.slow
def test_what_torch_and_safetensors_write_in_compiled_code_is_noted(place: Place) -> None:
    done = place.python(
        "import sys; from surefit.observe.inside.after_import import Watcher\n"
        "sys.meta_path.insert(0, Watcher())\n"
        "import torch; from safetensors.torch import save_file\n"
        f"there = {str(place.elsewhere)!r}\n"
        "torch.save({'a': torch.ones(2)}, there + '/a.pt')\n"
        "save_file({'a': torch.ones(2)}, there + '/a.safetensors')\n"
        "torch.save({'a': torch.ones(2)}, 'own.pt')\n"
    )
    assert done.returncode == 0, done.stderr
    assert place.noted() == [
        ("wrote", str(place.elsewhere / "a.pt")),
        ("wrote", str(place.elsewhere / "a.safetensors")),
    ]


def test_without_namespaces_shared_memory_is_out_of_reach_and_that_is_said(place: Place) -> None:
    """Memory that all processes of a user see cannot be made private there."""
    place.sandboxed("landlock")
    done = place.python(
        "import multiprocessing, multiprocessing.synchronize as synchronize\n"
        "traces.locks_between_processes(synchronize)\n"  # as the observer does after the import
        "multiprocessing.Queue()\nprint('went on')\n"
    )
    assert (done.returncode, done.stdout) == (traces.STOPPED, "")
    assert place.noted() == [("wrote", traces.SHARED_MEMORY)]
