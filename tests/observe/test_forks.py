"""A run in a fork is the run that a plain start makes; where it would not be, it starts plainly."""

import json
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from surefit.doctor.observations import Chance, Crash, Ended, Imported, Script, Steps
from surefit.doctor.recording import Recording, as_line
from surefit.observe import forks
from surefit.observe.forks import Fork, ForkLost, Forks
from surefit.observe.inside import spool
from surefit.observe.launch import Launch
from surefit.observe.preloading import Preload
from surefit.observe.script import Watched, watch
from surefit.proof.chance import again, that_can_be_repeated
from surefit.proof.sandbox import IN_EVERY_COPY, attempt

UNSEEDED = """
    import random
    import numpy as np
    import torch
    from torch import nn
    from torch.utils.data import DataLoader

    net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.3), nn.ReLU(), nn.Linear(8, 3))
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    scale = random.random() + np.random.rand() + len({"a", "bc", "def"})
    names = list({"one", "two", "three", "four"})
    rows = [(torch.randn(4) * scale, at % 3) for at in range(24)]
    for x, y in DataLoader(rows, batch_size=4, shuffle=True, num_workers=1):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
    raise ValueError([loss.item(), scale, names])
"""

OF_TRANSFORMERS = """
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

    sizes = dict(vocab_size=64, n_positions=16, n_embd=16, n_layer=1, n_head=2)
    model = GPT2LMHeadModel(GPT2Config(**sizes))
    ids = torch.randint(0, 64, (24, 12))
    rows = [{"input_ids": row, "labels": row} for row in ids]
    settings = TrainingArguments("out", max_steps=4, report_to=[], use_cpu=True, save_strategy="no")
    Trainer(model, settings, train_dataset=rows).train()
    raise ValueError(float(model.lm_head.weight.sum()))
"""


def launch_of(folder: Path, text: str, *words: str) -> Launch:
    (folder / "train.py").write_text(textwrap.dedent(text))
    return that_can_be_repeated(Launch((sys.executable, "train.py", *words), folder, "train.py"))


def tried(launch: Launch, run: Any, proof: str = "") -> Watched:
    how = {spool.PROOF: proof}
    return attempt(launch, None, {}, environment=how, seconds=120.0, bytes_=None, watch=run)


def figures(seen: Recording) -> Any:
    """All that conclusions are drawn from, as text, which is exact."""
    steps = [json.loads(as_line(one)) for one in seen.all(Steps)]
    for one in steps:
        for name in ("process", "seconds", "spent"):
            one.pop(name, None)
    said = [(crash.said, [str(frame.place) for frame in crash.frames]) for crash in seen.all(Crash)]
    return said, steps, [(one.file, one.text) for one in seen.all(Script)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "proof"), [(UNSEEDED, ""), (OF_TRANSFORMERS, "1")], ids=["torch", "transformers"]
)
def test_losses_are_those_of_a_plain_start_to_the_bit(
    text: str, proof: str, tmp_path: Path
) -> None:
    launch = launch_of(tmp_path, text)
    first = watch(launch, quiet=True).recording
    assert {library.name for library in first.all(Imported)} >= {"numpy", "torch", "torch._dynamo"}
    with again(launch, first) as same, Forks(launch, IN_EVERY_COPY) as server:
        server.begin(first)
        with patch.object(forks, "Fork", side_effect=Fork) as made:
            forked = [tried(same, server.watch, proof) for _ in range(2)]
        assert made.call_count == 2
        plain = tried(same, watch, proof)
    assert forked[0].code == plain.code == 1
    ours, others = figures(plain.recording), [figures(one.recording) for one in forked]
    assert others == [ours, ours]
    (losses,) = {steps.losses for steps in plain.recording.all(Steps) if steps.losses}
    assert losses == next(steps.losses for steps in first.all(Steps) if steps.losses)
    assert len(losses) >= 4
    assert forked[0].seconds < plain.seconds


SMALL = Preload(
    script="train.py",
    imports=("import colorsys",),
    parts=(),
    libraries={},
    sources=("train.py",),
    imports_first=True,
    random=None,
)


@contextmanager
def serving(launch: Launch, **more: Any) -> Iterator[Forks]:
    """Without what takes long to import."""
    preload = Preload(**{**{name: getattr(SMALL, name) for name in SMALL.__slots__}, **more})
    with patch.object(forks, "preload_for", return_value=preload), Forks(launch, {}) as made:
        made.begin(Recording([]))
        assert made.server is not None
        yield made


def why_not(launch: Launch, **more: Any) -> str | None:
    with serving(launch, **more) as made:
        assert made.server is not None
        made.server.is_ready(30)
        return made.server.why_not


WHERE = """
    import os, sys
    raise ValueError([sys.argv, sys.orig_argv[1:], os.getcwd(), __file__, __name__, __spec__,
        sys.path, os.environ.get("MINE"), os.getpid() == os.getsid(0), sys.flags.hash_randomization,
        sorted(name for name in os.environ if name.startswith("SUREFIT_FORKS")), hash("a"),
        sys.stdout.isatty(), [getattr(hook, "__module__", "") for hook in sys.path_hooks],
        "surefit_fork_server" in sys.modules, os.listdir("/proc/self/fd")])
"""


def test_a_fork_is_where_a_plain_start_would_be(tmp_path: Path) -> None:
    launch = launch_of(tmp_path, WHERE, "a", "--b=1")
    with (
        serving(launch, sources=()) as server,
        patch.object(forks, "Fork", side_effect=Fork) as made,
    ):
        forked = server.watch(launch, environment={"SUREFIT_X": "1"}, seconds=30.0)
        assert made.called
        plain = watch(launch, quiet=True, environment={"SUREFIT_X": "1"}, seconds=30.0)
    (ours,), (theirs,) = plain.recording.all(Crash), forked.recording.all(Crash)
    assert theirs.said == ours.said
    assert [frame.place for frame in theirs.frames] == [frame.place for frame in ours.frames]
    assert next(plain.recording.all(Ended)).command == next(forked.recording.all(Ended)).command


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("raise SystemExit(3)", 3),
        ("import os; os._exit(5)", 5),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", 139),
        ("def broken(:", 1),
    ],
)
def test_exit_codes(text: str, code: int, tmp_path: Path) -> None:
    launch = launch_of(tmp_path, text)
    with serving(launch, sources=()) as server:
        assert server.watch(launch, seconds=30.0).code == code
        assert watch(launch, quiet=True).code == code


@pytest.mark.parametrize(
    ("module", "said"),
    [
        (
            "import threading as t; t.Thread(target=t.Event().wait, daemon=True).start()",
            "a thread was started while importing",
        ),
        ("import random; random.random()", "random numbers were drawn while importing"),
        ("kept = open(__file__)", "a file or a device was opened while importing"),
        ("raise SystemExit(3)", "an import failed: SystemExit: 3"),
    ],
)
def test_imports_that_a_fork_would_tell_from_a_plain_start(
    module: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "odd.py").write_text(module)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "library"))
    launch = launch_of(tmp_path, "import odd")
    assert why_not(launch, imports=("import odd",), imports_first=False) == said
    assert why_not(launch, imports=("import colorsys",)) == ""
    with serving(launch, imports=("import odd",), imports_first=False) as server:
        assert server.watch(launch, seconds=30.0).code == watch(launch, quiet=True).code
        assert server.server is None


def test_a_library_that_is_another_now(tmp_path: Path) -> None:
    launch = launch_of(tmp_path, "")
    said = why_not(launch, libraries={"colorsys": "/elsewhere/colorsys.py"})
    assert said == "colorsys is another than in the first run"


def test_what_imports_drew_is_drawn_in_the_fork_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`rich` does that."""
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "odd.py").write_text("import random; random.random()")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "library"))
    launch = launch_of(tmp_path, "import odd, random\nraise ValueError(random.random())")
    first = watch(launch, quiet=True).recording
    (began,) = [one.state for one in first.all(Chance) if one.stream == "random"]
    with (
        again(launch, first) as same,
        serving(launch, imports=("import odd",), random=began) as ours,
    ):
        forked = ours.watch(same, seconds=30.0).recording
        assert ours.server is not None
    assert next(forked.all(Crash)).said == next(first.all(Crash)).said


def test_another_environment_or_a_patch_that_sets_one_starts_plainly(tmp_path: Path) -> None:
    code = "import sys; raise SystemExit(4 if 'colorsys' in sys.modules else 3)"
    launch = launch_of(tmp_path, code)
    with serving(launch) as server:
        assert server.watch(launch, seconds=30.0).code == 4
        assert server.watch(launch, seconds=30.0, environment={"MINE": "1"}).code == 3
        launch_of(tmp_path, f"import os\nos.environ['A'] = '1'\n{code}")
        assert server.watch(launch, seconds=30.0).code == 3


def test_a_server_that_is_gone_or_silent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    launch = launch_of(tmp_path, "import sys; raise SystemExit('colorsys' in sys.modules)")
    with serving(launch) as server:
        assert server.server is not None
        assert server.server.is_ready(30)
        server.server.process.kill()
        server.server.process.wait()
        assert server.watch(launch, seconds=30.0).code == 0
    monkeypatch.setattr(forks, "PROMPT", 0.2)
    with serving(launch) as server:
        assert server.server is not None
        assert server.server.is_ready(30)
        stopped = server.server.process
        stopped.send_signal(signal.SIGSTOP)
        assert server.watch(launch, seconds=30.0).code == 0
        assert server.server is None
        assert stopped.returncode is not None


def test_a_run_whose_server_dies_is_made_again_in_a_new_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = """
        import pathlib, sys, time
        if "colorsys" in sys.modules:
            pathlib.Path("written").touch()
            time.sleep(60)
        raise SystemExit(3 if pathlib.Path("written").exists() else 4)
    """
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "run").mkdir()
    launch = launch_of(tmp_path / "run", text)

    def kill_once_it_has_written(server: Forks) -> None:
        while not list(tmp_path.rglob("written")):
            time.sleep(0.02)
        assert server.server is not None
        server.server.process.kill()

    with serving(launch) as server:
        threading.Thread(target=kill_once_it_has_written, args=(server,), daemon=True).start()
        with pytest.raises(ForkLost):
            server.watch(launch, seconds=30.0)
        (tmp_path / "run" / "written").unlink()
    with serving(launch, sources=()) as server, patch.object(server, "environment", IN_EVERY_COPY):
        server.close()
        server.begun = False
        server.begin(Recording([]))
        threading.Thread(target=kill_once_it_has_written, args=(server,), daemon=True).start()
        assert tried(launch, server.watch).code == 4


def test_it_ends_when_it_is_closed_and_with_whoever_started_it(tmp_path: Path) -> None:
    launch = launch_of(tmp_path, "")
    with serving(launch) as server:
        assert server.server is not None
        process = server.server.process
    assert process.returncode is not None
    code = f"""
        import os, sys, time
        from pathlib import Path
        from surefit.observe import forks
        from surefit.observe.launch import Launch
        from surefit.observe.preloading import Preload
        preload = Preload(script="train.py", imports=(), parts=(), libraries={{}}, sources=(),
            imports_first=True, random=None)
        launch = Launch((sys.executable, "train.py"), Path({str(tmp_path)!r}))
        server = forks.Server(preload, launch, {{}})
        assert server.is_ready(30)
        fork = forks.Fork(server, [sys.executable, "train.py"], cwd=Path({str(tmp_path)!r}),
            env=dict(os.environ), start_new_session=True)
        print(server.process.pid, fork.pid, flush=True)
        time.sleep(60)
    """
    launch_of(tmp_path, "import time; time.sleep(60)")
    starter = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True
    )
    assert starter.stdout is not None
    pids = [int(word) for word in starter.stdout.readline().split()]
    assert all(is_alive(pid) for pid in pids)
    starter.kill()
    starter.communicate()
    ends = time.monotonic() + 20
    while any(map(is_alive, pids)) and time.monotonic() < ends:
        time.sleep(0.05)
    assert not any(map(is_alive, pids))


def is_alive(pid: int) -> bool:
    """A process that nobody has asked for its end counts as ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_nothing_is_left_open(tmp_path: Path) -> None:
    launch = launch_of(tmp_path, "")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(2):
        with serving(launch) as server:
            server.watch(launch, seconds=30.0)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


READS = """
    import os, sys
    from collections import Counter

    read = Counter()

    def noted(environment, name, plain=type(os.environ).__getitem__):
        if name.startswith("SUREFIT_"):
            frames = [frame := sys._getframe(1)]
            while frame := frame.f_back:
                frames.append(frame)
            files = [frame.f_code.co_filename for frame in frames]
            read[next(file for file in files if "inside" in file and "spool" not in file)] += 1
        return plain(environment, name)

    type(os.environ).__getitem__ = noted
    from surefit.observe.inside import finishing, install
    install.import_parts()
    when_imported = read.copy()
    read.clear()
    finishing.forget()
    print(sorted(when_imported - read), len(when_imported), sum(when_imported.values()))
"""


def test_what_observes_reads_again_in_a_fork_what_it_read_when_it_was_imported() -> None:
    command = [sys.executable, "-c", textwrap.dedent(READS)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    forgotten, files, reads = said.rsplit(maxsplit=2)
    assert forgotten == "[]"
    assert int(files) >= 5
    assert int(reads) > int(files)
