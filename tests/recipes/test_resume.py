"""A run that was killed, stopped or damaged, and goes on."""

import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

import preloaded
from surefit import embedded
from surefit.cli import main
from surefit.recipes import sft
from surefit.recipes.sft_settings import LoraSft
from surefit.train.checkpoint import checkpoints
from surefit.train.interrupt import StopAsked
from surefit.train.pace import without_pace
from surefit.train.record import RunFolder
from surefit.train.resume import from_newest

STEPS = 45


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    with embedded.ROWS.open() as source:
        file.write_text("".join(islice(source, 64)))
    return file


def flags(rows: Path, out: Path) -> dict[str, Any]:
    return {
        "data": str(rows),
        "out": str(out),
        "epochs": 3,
        "held_out": 0.0625,
        "augmentation_factor": 1,
        "lora_dropout": 0.1,  # so that the random state matters
        "save_every": 4,
        "max_new_tokens": 6,
        "threads": 1,
    }


@pytest.fixture(scope="module")
def unbroken(rows: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("unbroken") / "run"
    assert sft.run(**flags(rows, out)).steps == STEPS
    return out


def assert_same_end(one: Path, other: Path, epochs: int = 4) -> None:
    assert without_pace(RunFolder(one).metrics()) == without_pace(RunFolder(other).metrics())
    name = "adapter/adapter_model.safetensors"
    first, second = load_file(one / name), load_file(other / name)
    assert first.keys() == second.keys()
    assert all(torch.equal(first[key], second[key]) for key in first)
    for epoch in range(epochs):
        assert RunFolder(one).predictions(epoch) == RunFolder(other).predictions(epoch)


def start(*words: str) -> subprocess.Popen[bytes]:
    command = [preloaded.python(), "-m", "surefit", "sft", "--quiet", *words]
    return subprocess.Popen(
        command, env={**os.environ, "OMP_NUM_THREADS": "1"}, stderr=subprocess.PIPE
    )


def as_words(names: dict[str, Any]) -> list[str]:
    return [f"--{name}={value}" for name, value in names.items()]


def wait_for(out: Path, step: int, process: subprocess.Popen[bytes]) -> None:
    """Until that step stands in the metrics; a run that ends first is a failed test."""
    while not any(record["step"] >= step for record in RunFolder(out).metrics()):
        assert process.poll() is None, f"ended with {process.returncode} before step {step}"
        time.sleep(0.01)


@pytest.mark.slow
def test_killed_three_times_it_ends_as_if_never_stopped(
    rows: Path, unbroken: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    moments = random.Random(time.time_ns())
    steps = sorted(moments.sample(range(1, STEPS - 8), 3))  # early enough not to end first
    words = as_words(flags(rows, out))
    for step in steps:
        process = start(*words)
        wait_for(out, step, process)
        time.sleep(moments.random() * 0.05)
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL, f"killed too late; steps were {steps}"
        words = ["--resume", str(out)]
    process = start(*words)
    said = process.communicate()[1].decode()
    assert process.returncode == 0, said
    assert_same_end(unbroken, out)


@pytest.mark.slow
def test_ctrl_c_saves_and_says_how_to_go_on(rows: Path, unbroken: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    process = start(*as_words(flags(rows, out)))
    wait_for(out, 7, process)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=120)[1].decode()
    assert process.returncode == 130
    assert f"surefitsft--resume{out}" in "".join(said.split())  # a long path wraps anywhere
    assert checkpoints(out / "checkpoints")
    sft.run(resume=out)
    assert_same_end(unbroken, out)


STOP = 9


@pytest.fixture(scope="module")
def data(rows: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same rows, in a file that a test may change for a while."""
    return Path(shutil.copy(rows, tmp_path_factory.mktemp("data")))


@pytest.fixture(scope="module")
def stopped_once(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that stopped itself after a step, as Ctrl-C would stop it."""
    out = tmp_path_factory.mktemp("stopped") / "run"
    with pytest.MonkeyPatch.context() as patch, stopped_after(STOP, patch):
        assert main(["sft", *as_words(flags(data, out))]) == 130
    return out


@pytest.fixture
def stopped(stopped_once: Path, tmp_path: Path) -> Path:
    """Its copy, to be changed."""
    return Path(shutil.copytree(stopped_once, tmp_path / "run"))


@contextmanager
def stopped_after(step: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    add_step = RunFolder.add_step

    def then_stop(folder: RunFolder, progress: Any, *values: Any, **more: Any) -> None:
        add_step(folder, progress, *values, **more)
        if progress.step == step:
            signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "add_step", then_stop)
        yield


@pytest.mark.slow
def test_resumed_with_nothing_saved_it_starts_again(unbroken: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    shutil.copytree(unbroken, out)
    for name in ("checkpoints", "adapter", "predictions"):
        shutil.rmtree(out / name)
    (out / "report.json").unlink()
    sft.run(resume=out)
    assert_same_end(unbroken, out)


def test_a_run_that_is_done_stays_as_it_is(
    unbroken: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (unbroken / "metrics.jsonl").read_bytes()
    assert main(["sft", "--resume", str(unbroken)]) == 0
    assert "nothing to resume" in capsys.readouterr().out
    assert (unbroken / "metrics.jsonl").read_bytes() == before


def test_other_settings_are_refused(stopped: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sft", "--resume", str(stopped), "--epochs", "7"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "different `epochs`" in said
    assert "3 in the run, 7 now" in said


def test_what_was_typed_counts_and_not_what_differs_from_the_default(
    stopped: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert LoraSft().epochs == 4
    assert main(["sft", "--resume", str(stopped), "--epochs", "4"]) == 2
    assert "3 in the run, 4 now" in " ".join(capsys.readouterr().err.split())


def test_a_finished_run_is_extended_and_the_segment_is_recorded(
    rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And goes on within that segment to the same bits, killed or not."""
    out, broken = tmp_path / "run", tmp_path / "broken"
    first = sft.run(**flags(rows, out) | {"epochs": 1})
    shutil.copytree(out, broken)
    adapter = (out / "adapter/adapter_model.safetensors").read_bytes()
    assert main(["sft", "--resume", str(out), "--epochs", "2"]) == 0
    said = capsys.readouterr().out
    assert "Resuming at step 16 of 30" in said
    assert "segment 2 starts after step 15" in said
    report = RunFolder(out).read_report()
    assert (report.epochs, report.steps) == (2, 30)
    assert (out / "adapter/adapter_model.safetensors").read_bytes() != adapter
    segments = [
        {"from_step": 0, "epochs": 1, "max_steps": None},
        {"from_step": 15, "epochs": 2, "max_steps": None},
    ]
    assert RunFolder(out).segments() == segments
    assert (out / "report-1.json").read_bytes() != (out / "report.json").read_bytes()
    rates = [record["learning_rate"] for record in RunFolder(out).metrics() if "loss" in record]
    assert rates[15:] == rates[:15]
    assert first.steps == 15

    with stopped_after(20, monkeypatch):
        assert main(["sft", "--resume", str(broken), "--epochs", "2"]) == 130
    assert main(["sft", "--resume", str(broken)]) == 0
    assert "Resuming at step 21 of 30" in capsys.readouterr().out
    assert_same_end(out, broken, epochs=3)
    before = (out / "settings.json").read_bytes()
    assert main(["sft", "--resume", str(out), "--epochs", "1"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "already has 30 steps; the new settings give 15" in said
    assert (out / "settings.json").read_bytes() == before


def test_a_damaged_checkpoint_is_named_and_an_earlier_one_offered(
    stopped: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    newest = checkpoints(stopped / "checkpoints")[-1]
    weights = bytearray((newest / "weights.safetensors").read_bytes())
    weights[-5] ^= 1
    (newest / "weights.safetensors").write_bytes(weights)
    metrics = (stopped / "metrics.jsonl").read_bytes()
    assert main(["sft", "--resume", str(stopped)]) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert "checkpoint-damaged" in said
    assert "`weights.safetensors` of checkpoint step-0000009 is damaged" in said
    assert "to resume from step-0000008" in said
    assert (stopped / "metrics.jsonl").read_bytes() == metrics


@pytest.mark.parametrize("content", [b"", b"{", b"{}", b'{"progress": {"x": 1}}'])
def test_a_checkpoint_without_its_page_is_damaged(
    content: bytes, stopped: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (checkpoints(stopped / "checkpoints")[-1] / "checkpoint.json").write_bytes(content)
    assert main(["sft", "--resume", str(stopped)]) == 1
    assert "`checkpoint.json` of checkpoint step-0000009 is damaged" in " ".join(
        capsys.readouterr().err.split()
    )


def test_a_checkpoint_of_another_run_is_refused(
    data: Path, stopped: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = data.read_text()
    other = '{"input": "another row", "target": "other"}'
    data.write_text("\n".join([*text.splitlines()[:-1], other]))
    assert main(["sft", "--resume", str(stopped)]) == 1
    data.write_text(text)
    said = " ".join(capsys.readouterr().err.split())
    assert "checkpoint-of-another-run" in said
    assert "other `rows`" in said


def test_resume_of_a_folder_that_is_no_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sft", "--resume", str(tmp_path / "nothing")]) == 1
    assert "is not a run folder" in " ".join(capsys.readouterr().err.split())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_stopped_in_an_evaluation_it_answers_again(
    rows: Path, unbroken: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "run"
    add_score = RunFolder.add_score

    def stop_first(folder: RunFolder, progress: Any, epoch: int, *values: Any, **more: Any) -> None:
        if epoch == 1:
            raise StopAsked
        add_score(folder, progress, epoch, *values, **more)

    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "add_score", stop_first)
        assert main(["sft", *as_words(flags(rows, out))]) == 130
    sft.run(resume=out)
    assert_same_end(unbroken, out)


def test_settings_of_a_run_are_those_it_was_given(rows: Path, unbroken: Path) -> None:
    saved = RunFolder(unbroken).read_settings()
    assert saved["lora_dropout"] == 0.1
    assert saved["data"] == str(rows)
    assert LoraSft(epochs=3).epochs == saved["epochs"]


def test_a_run_that_saved_nothing_is_not_told_to_resume(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run", "distill")
    assert from_newest(folder) == []
    (folder.checkpoints / "step-0000004").mkdir(parents=True)
    (fix,) = from_newest(folder)
    assert f"surefit distill --resume {folder.path}" in fix.text
