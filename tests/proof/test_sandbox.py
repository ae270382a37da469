"""Real processes in real copies, started plainly and forked: what they may do, and what becomes of
the copy."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from surefit.doctor.observations import Crash, Process, Script, Trace
from surefit.doctor.recording import Recording
from surefit.observe import forks
from surefit.observe.preloading import Preload
from surefit.observe.script import Launch, Watched, watch
from surefit.proof.sandbox import (
    IN_EVERY_COPY,
    CannotTry,
    Watch,
    attempt,
    refuse_outside,
    snapshot,
)


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What is temporary to the script is a part of what is temporary to the test."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    return tmp_path / "run"


@pytest.fixture(params=["plainly", "forked"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How runs start in the copy."""
    monkeypatch.setitem(WAY, "is", request.param)
    return str(request.param)


WAY = {"is": "plainly"}
FORKED: list[bool] = []
"""Whether each run that was to be forked was."""


@contextmanager
def watching(command: Launch) -> Iterator[Watch]:
    if WAY["is"] == "plainly":
        yield watch
        return
    preload = Preload(
        script=str(command.cwd / "train.py"),
        imports=("import colorsys",),
        parts=(),
        libraries={},
        sources=(),
        imports_first=True,
        random=None,
    )
    with (
        patch.object(forks, "preload_for", return_value=preload),
        patch.object(forks, "Fork", side_effect=forks.Fork) as made,
        forks.Forks(command, IN_EVERY_COPY) as started,
    ):
        started.begin(Recording([]))
        yield started.watch
        FORKED.append(made.called)


def tried(
    run: Path, code: str, *words: str, seconds: float = 30.0, bytes_: int | None = None, **more: Any
) -> Watched:
    (run / "train.py").write_text(code)
    command = Launch((sys.executable, "train.py", *words), run, "train.py")
    with watching(command) as watched:
        return attempt(
            command,
            more.get("before"),
            more.get("texts", {}),
            environment=more.get("environment", {}),
            seconds=seconds,
            bytes_=bytes_,
            watch=watched,
        )


def test_forks_are_forks(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the other tests try is not a plain start under another name."""
    monkeypatch.setitem(WAY, "is", "forked")
    code = "import sys; raise SystemExit(4 if 'colorsys' in sys.modules else 3)\n"
    assert tried(run, code).code == 4
    assert FORKED[-1]
    monkeypatch.setitem(WAY, "is", "plainly")
    assert tried(run, code).code == 3


def refused(run: Path, code: str, *words: str) -> str:
    with pytest.raises(CannotTry) as error:
        tried(run, code, *words)
    return error.value.said


@pytest.mark.usefixtures("way")
def test_it_runs_on_the_copy_and_leaves_nothing(run: Path, temporary: Path) -> None:
    watched = tried(
        run,
        "import pathlib, sys\n"
        "pathlib.Path('out.txt').write_text('x')\n"
        "pathlib.Path(__file__).with_name('beside.txt').write_text('x')\n"
        "pathlib.Path('train.py').unlink()\n"
        "sys.exit(5)\n",
    )
    assert watched.code == 5
    assert [path.name for path in run.iterdir()] == ["train.py"]
    assert list(temporary.iterdir()) == []


@pytest.mark.usefixtures("way")
def test_patched_files_are_what_runs(run: Path) -> None:
    watched = tried(run, "raise SystemExit(3)\n", texts={"train.py": b"raise SystemExit(4)\n"})
    assert watched.code == 4
    assert (run / "train.py").read_text() == "raise SystemExit(3)\n"


@pytest.mark.usefixtures("way")
def test_names_are_those_of_the_first_run(run: Path) -> None:
    watched = tried(run, "import sys\nraise ValueError(__file__)\n")
    (crash,) = watched.recording.all(Crash)
    assert crash.said == f"ValueError: {run / 'train.py'}"
    assert [str(frame.place) for frame in crash.frames] == ["train.py:2"]
    assert [script.file for script in watched.recording.all(Script)] == ["train.py"]


@pytest.mark.usefixtures("way")
def test_arguments_and_environment_lead_to_the_copy(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (run / "lib").mkdir()
    (run / "lib" / "mine.py").write_text("raise SystemExit(3)\n")
    monkeypatch.setenv("PYTHONPATH", str(run / "lib"))
    monkeypatch.setenv("OUT", str(run / "out"))
    code = (
        "import os, pathlib, sys\n"
        "for name in (sys.argv[1].partition('=')[2], os.environ['OUT']):\n"
        "    pathlib.Path(name).write_text('x')\n"
        "import mine\n"
    )
    patched = {"lib/mine.py": b"raise SystemExit(4)\n"}
    assert tried(run, code, f"--out={run / 'log'}", texts=patched).code == 4
    assert sorted(path.name for path in run.iterdir()) == ["lib", "train.py"]


@pytest.mark.usefixtures("way")
def test_it_is_offline_and_trackers_are_off(run: Path, temporary: Path) -> None:
    names = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE", "WANDB_MODE", "MINE")
    watched = tried(
        run,
        f"import os; raise ValueError([os.environ[name] for name in {names!r}],"
        " os.environ['MLFLOW_TRACKING_URI'].startswith('file:///'))",
        environment={"MINE": "yes"},
    )
    (crash,) = watched.recording.all(Crash)
    assert crash.said == "ValueError: (['1', '1', '1', 'disabled', 'yes'], True)"
    assert list(temporary.iterdir()) == []


@pytest.mark.usefixtures("way")
def test_writing_outside_ends_the_try(run: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    there = tmp_path / "other" / "out.txt"
    said = refused(run, f"open({str(there)!r}, 'w').write('x')\n")
    assert said == f"not tried: it writes to {there}, outside of its folder"
    assert not there.exists()


@pytest.mark.usefixtures("way")
def test_writing_to_the_folder_itself_ends_the_try(
    run: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Also where that folder is a temporary one."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    said = refused(run, f"open({str(run / 'out.txt')!r}, 'w').write('x')\n")
    assert said == f"not tried: it writes to {run / 'out.txt'}, outside of its folder"
    assert not (run / "out.txt").exists()


@pytest.mark.usefixtures("way")
def test_writing_through_a_link_ends_the_try(run: Path, tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (run / "far").symlink_to(tmp_path / "far")
    said = refused(run, "open('far/out.txt', 'w').write('x')\n")
    assert said == f"not tried: it writes to {tmp_path / 'far' / 'out.txt'}, outside of its folder"
    assert list((tmp_path / "far").iterdir()) == []


@pytest.mark.usefixtures("way")
def test_a_swallowed_refusal_is_one_all_the_same(run: Path, tmp_path: Path) -> None:
    there = tmp_path / "out.txt"
    code = f"try:\n    open({str(there)!r}, 'w')\nexcept BaseException:\n    pass\n"
    assert refused(run, code) == f"not tried: it writes to {there}, outside of its folder"


@pytest.mark.usefixtures("way")
def test_talking_ends_the_try(run: Path) -> None:
    said = refused(run, "import socket; socket.create_connection(('192.0.2.1', 443), 1)\n")
    assert said == "not tried: it talks to 192.0.2.1:443 over the network"


@pytest.mark.usefixtures("way")
def test_other_programs_end_the_try(run: Path) -> None:
    said = refused(run, "import os; os.system('touch x')\n")
    assert said == "not tried: it starts `touch x`, which cannot be watched"


@pytest.mark.usefixtures("way")
def test_a_child_that_writes_outside_ends_the_try(run: Path, tmp_path: Path) -> None:
    there = tmp_path / "out.txt"
    code = (
        "import subprocess, sys, time\n"
        f"subprocess.run([sys.executable, '-c', {f'open({str(there)!r}, chr(119))'!r}])\n"
        "time.sleep(60)\n"
    )
    assert refused(run, code) == f"not tried: it writes to {there}, outside of its folder"
    assert not there.exists()


@pytest.mark.usefixtures("way")
def test_time_and_memory_are_limited(run: Path, temporary: Path) -> None:
    watched = tried(run, "import time; time.sleep(60)\n", seconds=1.0)
    assert (watched.stopped, watched.seconds < 20) == ("time", True)
    hungry = "import time; kept = bytearray(300 << 20); kept[:] = b'x' * len(kept); time.sleep(60)"
    assert tried(run, hungry, bytes_=200 << 20).stopped == "memory"
    assert list(temporary.iterdir()) == []


@pytest.mark.usefixtures("way")
def test_the_folder_is_as_it_was_before_the_first_run(run: Path) -> None:
    (run / "train.py").write_text("")
    code = (
        "import pathlib\n"
        "state = pathlib.Path('state')\n"
        "raise SystemExit(3 if state.exists() else state.write_text('x'))\n"
    )
    (run / "train.py").write_text(code)
    before = snapshot(run)
    (run / "state").write_text("made by the first run")
    assert tried(run, code, before=before).code == 1
    assert tried(run, code).code == 3


def test_the_copy_is_removed_after_a_failure(run: Path, temporary: Path) -> None:
    def broken(*_: object, **__: object) -> Watched:
        assert len(list(temporary.iterdir())) == 1
        raise RuntimeError("boom")

    (run / "train.py").write_text("")
    command = Launch((sys.executable, "train.py"), run, "train.py")
    with pytest.raises(RuntimeError, match="boom"):
        attempt(command, None, {}, environment={}, seconds=1, bytes_=None, watch=broken)
    assert list(temporary.iterdir()) == []


def test_what_cannot_be_read_cannot_be_copied(run: Path) -> None:
    if os.geteuid() == 0:
        (run / "train.py").write_text("")
        command = Launch((sys.executable, "train.py"), run, "train.py")
        missing = {"gone/x.py": b""}
        with pytest.raises(CannotTry, match=r"gone/x\.py could not be copied: No such file"):
            attempt(command, None, missing, environment={}, seconds=1, bytes_=None, watch=watch)
        return
    (run / "secret").write_text("x")
    (run / "secret").chmod(0)
    assert "secret could not be copied: Permission denied" in refused(run, "")


@pytest.mark.parametrize(
    ("trace", "said"),
    [
        (("wrote", "/data/x"), "it writes to /data/x, outside of its folder"),
        (("connected", "hub:443"), "it talks to hub:443 over the network"),
        (("started", "git pull"), "it starts `git pull`, which cannot be watched"),
    ],
)
def test_what_the_first_run_did_is_enough(trace: tuple[str, str], said: str) -> None:
    refuse_outside(Recording([]))
    with pytest.raises(CannotTry) as error:
        refuse_outside(Recording([Trace(Process(), *trace)]))
    assert error.value.reason == said
