"""Ranks that a launcher starts: one report for all, the first crash in time is the cause."""

import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from running import LONGEST, Ran, surefit_run, written
from surefit.doctor.observations import Crash, Death, Process
from surefit.doctor.recording import read
from surefit.launch_notes import UnsafeFolderError
from surefit.observe import launched

LAUNCH = {
    "TORCHELASTIC_RUN_ID": "none",
    "GROUP_RANK": "0",
    "MASTER_ADDR": "127.0.0.1",
    "MASTER_PORT": "29500",
    "RANK": "1",
    "WORLD_SIZE": "2",
    "LOCAL_RANK": "1",
    "LOCAL_WORLD_SIZE": "2",
}


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    for name in (*LAUNCH, "TORCHELASTIC_RESTART_COUNT"):
        monkeypatch.delenv(name, raising=False)
    return folder


def seated(monkeypatch: pytest.MonkeyPatch, local_rank: int, **more: str) -> launched.Seat:
    for name, value in {**LAUNCH, "LOCAL_RANK": str(local_rank), **more}.items():
        monkeypatch.setenv(name, value)
    seat = launched.take_seat()
    assert seat is not None
    return seat


def test_alone_there_is_nobody_to_share_with(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert launched.take_seat() is None
    for name, value in {**LAUNCH, "LOCAL_WORLD_SIZE": "1"}.items():
        monkeypatch.setenv(name, value)
    assert launched.take_seat() is None
    assert list(temporary.iterdir()) == []
    assert launched.is_one_of_several()
    assert launched.own_process(5) == Process(5, "rank", 1, 2)


def test_ranks_of_one_launch_share_a_folder_of_their_own(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = seated(monkeypatch, 0), seated(monkeypatch, 1)
    assert first.folder == second.folder
    assert first.folder.parent == temporary
    assert stat.S_IMODE(first.folder.stat().st_mode) == 0o700
    assert (first.reports, second.reports) == (True, False)
    another = seated(monkeypatch, 0, TORCHELASTIC_RESTART_COUNT="1")
    assert another.folder != first.folder


def test_a_folder_that_others_can_write_to_is_refused(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = seated(monkeypatch, 0).folder
    folder.chmod(0o777)
    with pytest.raises(UnsafeFolderError):
        launched.take_seat()
    folder.rename(temporary / "real")
    folder.symlink_to(temporary / "real")
    with pytest.raises(UnsafeFolderError):
        launched.take_seat()


def test_whoever_ends_is_known_to_the_others(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = seated(monkeypatch, 0), seated(monkeypatch, 1)
    assert first.running() == [1]
    assert first.failed() is None
    second.has_ended(3, [Death(Process(1, "rank", 1, 2), "signal", "SIGSEGV", 139)])
    assert first.running() == []
    assert first.failed() == 3
    (line,) = (second.folder / f"watcher-{os.getpid()}.jsonl").read_text().splitlines()
    (death,) = read([line]).all(Death)
    assert (death.signal, death.process.rank) == ("SIGSEGV", 1)
    assert temporary in first.folder.parents


def test_a_failed_rank_stays_until_all_is_told(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = seated(monkeypatch, 0), seated(monkeypatch, 1)
    second.has_ended(1, [])
    order: list[str] = []

    def stays() -> None:
        second.stay(60)
        order.append("left")

    staying = threading.Thread(target=stays)
    staying.start()
    time.sleep(0.3)
    order.append("told")
    first.close()
    staying.join(60)
    assert order == ["told", "left"]
    assert list(temporary.iterdir()) == []


def test_nobody_waits_for_a_rank_that_is_gone(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = seated(monkeypatch, 0), seated(monkeypatch, 1)
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    for rank in (0, 1):
        (first.folder / f"{rank}.here").write_text(json.dumps({"pid": gone.pid}))
    began = time.monotonic()
    second.stay(60)
    assert first.running() == []
    assert time.monotonic() - began < 30
    assert temporary.exists()


TRAINS = """
    import os, signal, sys, time
    import torch
    import torch.distributed as dist
    from torch import nn

    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    model = nn.parallel.DistributedDataParallel(nn.Linear(4, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    rows = {"good": torch.ones(3, 4)}
    for step in range(4):
        name = "good"
        if step == 2 and sys.argv[1] == "one" and rank == 1:
            name = "bad"
        if step == 2 and sys.argv[1] == "both":
            name = "bad"
        if step == 2 and sys.argv[1] == "segv" and rank == 1:
            os.kill(os.getpid(), signal.SIGSEGV)
        if step == 2 and sys.argv[1] == "waits":
            if rank == 1:
                rows["bad"]
            time.sleep(120)
        loss = model(rows[name] * (rank + 1)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    dist.barrier()
    dist.destroy_process_group()
    os.write(1, f"trained {rank}\\n".encode())
"""


def within(cwd: Path, how: str, launcher: list[str]) -> Ran:
    """`LAUNCHER -m surefit run`: a surefit for every rank."""
    temporary = cwd / "temporary"
    temporary.mkdir()
    document, record = cwd / "document.json", cwd / "record.jsonl"
    command = [*launcher, "-m", "surefit", "run", "--json", str(document)]
    ended = subprocess.run(
        [sys.executable, *command, "--record", str(record), "main.py", how],
        cwd=cwd,
        env={**os.environ, "TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    assert [one.name for one in temporary.iterdir() if one.name.startswith("surefit")] == []
    told: dict[str, Any] = json.loads(document.read_text())
    seen = read(record.read_text().splitlines())
    return Ran(ended.returncode, ended.stdout, ended.stderr, seen, told)


def around(cwd: Path, how: str, launcher: list[str]) -> Ran:
    """`surefit run LAUNCHER`: one surefit for all."""
    return surefit_run([*launcher, "main.py", how], cwd, ["--no-proof"])


TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
ACCELERATE = ["-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2"]
ACCELERATE += ["--num_machines", "1", "--mixed_precision", "no", "--dynamo_backend", "no"]
ACCELERATE += ["--main_process_port", "0"]
"""On a machine without any, it launches on the processor."""

FORMS = [
    pytest.param(within, TORCHRUN, id="torchrun -m surefit run"),
    pytest.param(around, TORCHRUN, id="surefit run torchrun"),
    pytest.param(within, ACCELERATE, id="accelerate launch -m surefit run"),
    pytest.param(around, ACCELERATE, id="surefit run accelerate launch"),
]


def only_finding(ran: Ran) -> dict[str, Any]:
    (finding,) = ran.document["findings"]
    found: dict[str, Any] = finding
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("run", "launcher"), FORMS)
def test_cause_on_one_rank(run: Any, launcher: list[str], tmp_path: Path) -> None:
    """What the other rank then raises, and the launcher, are consequences."""
    written(tmp_path, main=TRAINS)
    ran = run(tmp_path, "one", launcher)
    assert ran.code == 1
    finding = only_finding(ran)
    assert finding["python_said"] == "KeyError: 'bad'"
    assert finding["place"]["line"] == 24
    assert finding["ranks"] == [1]
    assert ran.document["ended"] == {"code": 1, "exception": "KeyError: 'bad'"}
    assert ran.err.count("── error: ") == 1
    crash = min(ran.seen.all(Crash), key=lambda crash: crash.at)
    assert (crash.process.rank, crash.process.world, crash.steps) == (1, 2, 2)


@pytest.mark.slow
@pytest.mark.parametrize(("run", "launcher"), FORMS[:2])
def test_the_same_fault_on_both_ranks_is_one_finding(
    run: Any, launcher: list[str], tmp_path: Path
) -> None:
    written(tmp_path, main=TRAINS)
    finding = only_finding(run(tmp_path, "both", launcher))
    assert finding["python_said"] == "KeyError: 'bad'"
    assert 0 in finding["ranks"] or 1 in finding["ranks"]
    assert set(finding["ranks"]) <= {0, 1}


@pytest.mark.slow
@pytest.mark.parametrize(("run", "launcher"), FORMS[:2])
def test_a_rank_that_a_signal_ended(run: Any, launcher: list[str], tmp_path: Path) -> None:
    written(tmp_path, main=TRAINS)
    ran = run(tmp_path, "segv", launcher)
    assert ran.code != 0
    finding = only_finding(ran)
    assert finding["rule"] == "died-without-exception"
    assert finding["headline"].startswith("Rank 1 of 2 was ended by SIGSEGV")
    assert finding["place"]["line"] == 19
    assert finding["ranks"] == [1]


@pytest.mark.slow
def test_a_rank_that_waits_for_ever_is_ended(tmp_path: Path) -> None:
    """Its own watcher ends it, ten seconds after the other one has failed."""
    written(tmp_path, main=TRAINS)
    ran = within(tmp_path, "waits", TORCHRUN)
    assert ran.code == 1
    finding = only_finding(ran)
    assert (finding["python_said"], finding["ranks"]) == ("KeyError: 'bad'", [1])


@pytest.mark.slow
@pytest.mark.parametrize(("run", "launcher"), FORMS)
def test_healthy_ranks(run: Any, launcher: list[str], tmp_path: Path) -> None:
    written(tmp_path, main=TRAINS)
    ran = run(tmp_path, "well", launcher)
    assert ran.code == 0, ran.err
    assert sorted(ran.out.split("\n")) == ["", "trained 0", "trained 1"]
    assert ran.document["findings"] == []
    assert ran.err.count("surefit: laws: ") == 1


SLICES = """
    import torch
    import torch.distributed as dist
    from torch import nn

    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = nn.parallel.DistributedDataParallel(nn.Linear(4, 6))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    ids = torch.randint(6, (2, 5))
    for step in range(3):
        logits = model(torch.ones(2, 5, 4))[:, :-1]
        labels = ids[:, 1:]
        loss = nn.functional.cross_entropy(logits.reshape(-1, 6), labels.view(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    dist.destroy_process_group()
"""


@pytest.mark.slow
def test_who_starts_all_ranks_can_start_them_again(tmp_path: Path) -> None:
    written(tmp_path, main=SLICES)
    finding = only_finding(surefit_run([*TORCHRUN, "main.py"], tmp_path))
    assert (finding["rule"], finding["ranks"]) == ("view-of-a-slice", [0, 1])
    proof = finding["fixes"][0]["proof"]
    assert proof["status"] == "held"
    assert proof["said"].startswith("tried on a copy: 2 steps past the fault")


@pytest.mark.slow
def test_one_of_the_ranks_cannot(tmp_path: Path) -> None:
    written(tmp_path, main=SLICES)
    finding = only_finding(within(tmp_path, "", TORCHRUN))
    assert (finding["rule"], finding["ranks"]) == ("view-of-a-slice", [0, 1])
    said = finding["fixes"][0]["proof"]["said"]
    assert "this is one of 2 ranks" in said  # told by the one whose frames could be asked, or not


def test_the_launcher_does_not_end_who_clears_up() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with launched.without_ending():
        os.kill(os.getpid(), signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) == before
