"""A process that goes on in namespaces: how it ends, what it sees, and what is left of it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from surefit.observe.inside.traces import namespaces, relay

SOURCE = str(Path(namespaces.__file__).parents[4])
START = """
import os, sys, time; sys.path.insert(0, {source!r})
from surefit.observe.inside.traces import namespaces
why = namespaces.enter([{copy!r}, {spool!r}], [{temporary!r}])
"""


@pytest.fixture
def run(tmp_path: Path) -> dict[str, str]:
    folders = {name: str(tmp_path.resolve() / name) for name in ("copy", "spool", "temporary")}
    for folder in folders.values():
        Path(folder).mkdir()
    return folders


def python(run: dict[str, str], code: str, **more: str) -> "subprocess.CompletedProcess[str]":
    text = START.format(source=SOURCE, **run) + code
    return subprocess.run(
        [sys.executable, "-c", text],
        cwd=run["copy"],
        env={**os.environ, **more},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("code", "ends"),
    [
        ("sys.exit(3)", 3),
        ("os.kill(os.getpid(), 9)", -9),
        ("os.kill(os.getpid(), 15)", -15),
        ("os.abort()", -6),
        ("import ctypes; ctypes.string_at(0)", -11),
        ("1 / 0", 1),
    ],
)
def test_it_ends_as_the_script_does(run: dict[str, str], code: str, ends: int) -> None:
    assert python(run, code).returncode == ends


def test_user_folder_and_content_are_the_same(run: dict[str, str]) -> None:
    (Path(run["temporary"]) / "old").write_text("as before")
    code = (
        "print(repr(why), os.getuid(), os.getgid(), os.getcwd())\n"
        "print(open(os.path.join({temporary!r}, 'old')).read())\n"
        "open('result', 'w').write('x'); open({spool!r} + '/seen', 'w').write('x')\n"
    ).format(**run)
    done = python(run, code)
    assert done.stderr == ""
    first, second = done.stdout.splitlines()
    assert first == f"'' {os.getuid()} {os.getgid()} {run['copy']}"
    assert second == "as before"
    assert (Path(run["copy"]) / "result").exists()
    assert (Path(run["spool"]) / "seen").exists()


def test_processes_talk_to_each_other_over_loopback(run: dict[str, str]) -> None:
    code = (
        "import socket\nserver = socket.create_server(('127.0.0.1', 0))\n"
        "if os.fork() == 0:\n"
        "    socket.create_connection(server.getsockname()).send(b'x'); os._exit(0)\n"
        "print(server.accept()[0].recv(1))\n"
    )
    assert python(run, code).stdout == "b'x'\n"


def test_where_there_are_none_the_process_is_as_it_was(run: dict[str, str]) -> None:
    code = "print(why, os.getpid() > 2)"
    done = python(run, code, **{namespaces.NOT_ISOLATED: "1"})
    assert done.stdout == "namespaces are switched off True\n"


def test_what_only_waits_is_named_so(run: dict[str, str]) -> None:
    code = "print(open('/proc/1/comm').read().strip(), open('/proc/self/comm').read().strip())"
    waiting, script = python(run, code).stdout.split()
    assert waiting == relay.RELAY
    assert script != relay.RELAY
