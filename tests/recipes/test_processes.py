"""Several processes are one run: the same steps, one log, one voice, stopped and lost together."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch
from safetensors.torch import load_file

from surefit import embedded
from surefit.cli import main
from surefit.errors import Stopped
from surefit.recipes import sft
from surefit.train.checkpoint import checkpoints
from surefit.train.device import make_accelerator
from surefit.train.pace import without_pace
from surefit.train.record import RunFolder
from tools.faults.sharding import sharding

CHECKOUT = str(Path(__file__).parents[2])
STEPS = 30
BATCH = 8
"""Rows to a step: of one process, or of two with half as many."""

TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
ACCELERATE = ["-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2"]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    with embedded.ROWS.open() as source:
        file.write_text("".join(islice(source, 40)))
    return file


def flags(rows: Path, out: Path, batch_size: int) -> dict[str, Any]:
    return {
        "data": str(rows),
        "out": str(out),
        "epochs": 6,
        "held_out": 0.125,
        "lora_dropout": 0.0,  # the dropped places are each process's own
        "batch_size": batch_size,
        "generate_batch_size": 2,  # five held-out rows: three batches, so that one has more
        "save_every": 4,
        "max_new_tokens": 6,
        "threads": 1,
    }


def telling(ends: Path) -> list[str]:
    """`TORCHRUN`; how each of its processes ended stands in a file afterwards."""
    return [str(Path(__file__).with_name("telling_launcher.py")), str(ends), *TORCHRUN[2:]]


SUREFIT = ("-m", "surefit")
SHARDED = (__file__,)
"""This file, run in place of surefit: see its end."""


def started(
    launcher: list[str], *words: str, program: tuple[str, ...] = SUREFIT
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *launcher, *program, "sft", *words],
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": CHECKOUT},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def as_words(names: dict[str, Any]) -> list[str]:
    return [f"--{name}={value}" for name, value in names.items()]


def signalled(process: subprocess.Popen[str], out: Path, step: int, rank: int, what: int) -> None:
    """Once that step stands in the metrics; a run that ends first is a failed test."""
    while not any(record["step"] >= step for record in RunFolder(out).metrics()):
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.01)
    workers = psutil.Process(process.pid).children()
    (worker,) = [one for one in workers if one.environ().get("RANK") == str(rank)]
    worker.send_signal(what)


def losses(out: Path) -> list[float]:
    return [record["loss"] for record in RunFolder(out).metrics() if "loss" in record]


def assert_same_run(one: Path, other: Path) -> None:
    """Within what the order of additions makes of fp32 over all these steps."""
    assert losses(one) == pytest.approx(losses(other), rel=1e-4)
    assert losses(one)[:8] == pytest.approx(losses(other)[:8], rel=1e-5)
    ours, theirs = RunFolder(one).metrics(), RunFolder(other).metrics()
    for key in ("step", "epoch", "supervised_tokens", "learning_rate", "f1", "rows"):
        assert [record.get(key) for record in ours] == [record.get(key) for record in theirs]
    for epoch in range(7):
        assert RunFolder(one).predictions(epoch) == RunFolder(other).predictions(epoch)


def assert_equal_run(one: Path, other: Path) -> None:
    """To the bit."""
    assert without_pace(RunFolder(one).metrics()) == without_pace(RunFolder(other).metrics())
    name = "adapter/adapter_model.safetensors"
    first, second = load_file(one / name), load_file(other / name)
    assert all(torch.equal(first[key], second[key]) for key in first)


def notes_left() -> set[str]:
    return {path.name for path in Path(tempfile.gettempdir()).glob("surefit-ranks-*")}


@pytest.fixture(scope="module")
def alone(rows: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("alone") / "run"
    assert sft.run(**flags(rows, out, BATCH)).steps == STEPS
    return out


@pytest.fixture(scope="module")
def together(rows: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Two processes with half the batch, and all that they printed."""
    before = notes_left()
    out = tmp_path_factory.mktemp("together") / "run"
    process = started(TORCHRUN, *as_words(flags(rows, out, BATCH // 2)))
    said, errors = process.communicate()
    assert process.returncode == 0, errors
    assert notes_left() <= before
    return out, said


def test_two_processes_are_one_with_twice_the_batch(
    alone: Path, together: tuple[Path, str]
) -> None:
    out, _ = together
    assert_same_run(out, alone)
    names = ["predictions", "checkpoints", "adapter"]
    for name in names:
        ours = sorted(path.name for path in (out / name).iterdir())
        assert ours == sorted(path.name for path in (alone / name).iterdir())
    assert RunFolder(out).read_report().f1 == RunFolder(alone).read_report().f1
    assert RunFolder(out).read_settings()["rows_per_step"] == BATCH


def test_every_row_is_learned_from_once_an_epoch(alone: Path, together: tuple[Path, str]) -> None:
    out, _ = together
    counts = [r["supervised_tokens"] for r in RunFolder(out).metrics() if "loss" in r]
    epochs = {sum(counts[at : at + 5]) for at in range(0, STEPS, 5)}
    assert len(epochs) == 1, "every epoch has the same tokens in the loss"
    assert counts == [r["supervised_tokens"] for r in RunFolder(alone).metrics() if "loss" in r]


def test_one_process_speaks_for_both(together: tuple[Path, str]) -> None:
    _, said = together
    for line in (
        "Using device: cpu (fp32, 2 processes)",
        "Run folder: ",
        "Epoch 6: ",
        "Best epoch",
    ):
        assert said.count(line) == 1, said


def test_a_killed_process_is_named_and_the_run_goes_on_to_the_same_end(
    rows: Path, together: tuple[Path, str], tmp_path: Path
) -> None:
    out, ends = tmp_path / "run", tmp_path / "ends.json"
    process = started(telling(ends), *as_words(flags(rows, out, BATCH // 2)))
    signalled(process, out, 6, 1, signal.SIGKILL)
    errors = process.communicate()[1]
    assert json.loads(ends.read_text()) == {"0": 1, "1": -signal.SIGKILL}, errors
    reached = len(losses(out))
    assert 6 <= reached < STEPS, "killed too late"
    assert process.returncode == 1
    assert errors.count("other-process-died") == 1, errors
    told = " ".join(errors.split())
    newest = checkpoints(RunFolder(out).checkpoints)[-1].name.removeprefix("step-")
    assert f"Rank 1 of this run ended after step {reached}" in told
    assert f"newest checkpoint step {int(newest)} " in told
    assert f"surefitsft--resume{out}" in "".join(errors.split()), "a long path is broken into lines"
    assert "fault of surefit" not in errors

    in_one = tmp_path / "in-one"
    shutil.copytree(out, in_one)
    assert sft.run(resume=in_one).steps == STEPS
    assert_same_run(in_one, together[0])

    again = started(ACCELERATE, "--resume", str(out), "--quiet")
    _, errors = again.communicate()
    assert again.returncode == 0, errors
    assert_equal_run(out, together[0])


def test_one_process_then_two_that_shard_the_model_then_one(
    rows: Path, alone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "run"
    stop_after(7, monkeypatch)
    with pytest.raises(Stopped, match=r"after step [78] of 30"):
        sft.run(**flags(rows, out, BATCH))
    monkeypatch.undo()

    document = tmp_path / "told.json"
    words = ["--resume", str(out), "--json", str(document)]
    process = started(TORCHRUN, *words, program=SHARDED)
    signalled(process, out, 12, 1, signal.SIGTERM)  # one of them alone is asked to stop
    errors = process.communicate()[1]
    reached = len(losses(out))
    assert 12 <= reached < STEPS, "asked too late"
    assert errors.count(f"Stopped after step {reached} of 30") == 1, errors
    told = json.loads(document.read_text())
    assert [finding["rule"] for finding in told["findings"]] == ["stopped"]
    assert len(list((out / "checkpoints" / f"step-{reached:07d}").glob("*.distcp"))) == 2

    assert sft.run(resume=out).steps == STEPS
    assert_same_run(out, alone)


def stop_after(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Ctrl-C would, at a moment that is known."""
    add = RunFolder.add_step

    def then_stop(folder: RunFolder, progress: Any, *values: Any, **more: Any) -> None:
        add(folder, progress, *values, **more)
        if progress.step == step:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(RunFolder, "add_step", then_stop)


def test_bad_rows_are_told_once(tmp_path: Path) -> None:
    data = tmp_path / "rows.jsonl"
    data.write_text('{"input": "a", "target": "b"}\n{"input": "a"}\n')
    process = started(TORCHRUN, "--data", str(data), "--out", str(tmp_path / "out"))
    errors = process.communicate()[1]
    assert errors.count("is missing on line 2") == 1, errors
    assert errors.count("── error") == 1
    assert not (tmp_path / "out").exists()


if __name__ == "__main__":
    vars(sft)["make_accelerator"] = sharding(make_accelerator)
    sys.exit(main())
