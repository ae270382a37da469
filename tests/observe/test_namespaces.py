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


def python(
    run: dict[str, str], code: str, before: str = "", **more: str
) -> "subprocess.CompletedProcess[str]":
    text = before + START.format(source=SOURCE, **run) + code
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


SLOW_TO_LISTEN = """
import os, socket, time
outside, receive = os.getpid(), socket.socket.recv
socket.socket.recv = lambda line, most: (
    time.sleep(0.4 if os.getpid() == outside else 0), receive(line, most)
)[1]
"""


def test_a_script_that_ends_at_once_is_not_started_again(run: dict[str, str]) -> None:
    began = f"open({run['copy']!r} + '/began', 'a').write('x\\n'); os._exit(3)"
    assert python(run, began, before=SLOW_TO_LISTEN).returncode == 3
    assert (Path(run["copy"]) / "began").read_text() == "x\n"


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


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount something outside")
def test_what_others_have_mounted_in_a_temporary_folder_is_read_only(run: dict[str, str]) -> None:
    temporary = Path(run["temporary"])
    (temporary / "beside").mkdir()
    (temporary / "mounted").mkdir()
    (temporary / "file").write_text("as before")
    subprocess.run(["mount", "-t", "tmpfs", "none", temporary / "mounted"], check=True)
    code = (
        "print(repr(why), open('{temporary}/file').read())\n"
        "for name in ('beside/new', 'file', 'mounted/new'):\n"
        "    try: print(name, open('{temporary}/' + name, 'w').write('x'))\n"
        "    except OSError as error: print(name, error.strerror)\n"
    ).format(**run)
    try:
        done = python(run, code)
        assert done.stdout.splitlines() == [
            "'' as before",
            "beside/new 1",
            "file 1",
            "mounted/new Read-only file system",
        ]
        assert (temporary / "file").read_text() == "as before"
        assert not [*(temporary / "beside").iterdir()]
    finally:
        subprocess.run(["umount", temporary / "mounted"], check=True)
