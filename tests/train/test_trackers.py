"""Trackers: what was told is read back from what they wrote; nothing needs a network."""

import json
import os
import pty
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from accelerate import PartialState

from surefit.errors import WrongCall
from surefit.train import trackers as trackers_file
from surefit.train.record import RunFolder, start_run
from surefit.train.trackers import Trackers, check_trackers, start_trackers

SETTINGS = {"epochs": 2, "lora_targets": ["q_proj", "v_proj"], "resume": None, "model": "embedded"}
RATE = 0.5

Told = dict[str, list[tuple[int, float]]]
"""Steps and values, by name, in the order in which they were written."""


def step(number: int, loss: float) -> dict[str, Any]:
    return {
        "step": number,
        "epoch": 1,
        "loss": loss,
        "learning_rate": RATE,
        "gradient_norm": 2.0,
        "supervised_tokens": 40,
    }


def score(number: int, epoch: int, f1: float) -> dict[str, Any]:
    return {"step": number, "epoch": epoch, "f1": f1, "exact_match": 0.25, "rows": 8}


def started(folder: Path, *names: str, is_first: bool = True) -> tuple[RunFolder, Trackers]:
    run = RunFolder(folder) if folder.exists() else start_run(folder, SETTINGS)
    return run, start_trackers(names, SETTINGS, run, is_first)


def told(run: RunFolder, trackers: Trackers, *records: dict[str, Any]) -> None:
    """As a run does: first its own file, then the trackers."""
    for record in records:
        run.add(record)
        trackers.add(record)


def in_tensorboard(folder: Path) -> tuple[Told, dict[str, Any]]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found = EventAccumulator(str(folder / "tensorboard"), size_guidance={"scalars": 0})
    found.Reload()
    values = {
        name: [(event.step, event.value) for event in found.Scalars(name)]
        for name in found.Tags()["scalars"]
    }
    (kept,) = (folder / "tensorboard").glob("*/hparams.yml")
    return values, dict(line.split(": ", 1) for line in kept.read_text().splitlines())


def in_trackio(folder: Path) -> tuple[Told, dict[str, Any]]:
    values: Told = {}
    with sqlite3.connect(folder.parent / "trackio" / "surefit.db") as opened:
        for number, text in opened.execute("select step, metrics from metrics order by id"):
            for name, value in json.loads(text).items():
                values.setdefault(name, []).append((number, value))
        ((name, config),) = opened.execute("select run_name, config from configs").fetchall()
    opened.close()
    assert name.startswith(f"{folder.name}-")
    return values, json.loads(config)


def in_wandb(folder: Path) -> tuple[Told, dict[str, Any]]:
    values: Told = {}
    config: dict[str, Any] = {}
    runs = set()
    for file in sorted((folder / "wandb").glob("offline-run-*/*.wandb")):
        for record in wandb_records(file):
            items = {i.key or i.nested_key[0]: i.value_json for i in record.history.item}
            for name, text in items.items():
                if not name.startswith("_"):
                    values.setdefault(name, []).append((int(items["_step"]), json.loads(text)))
            changed = [*record.run.config.update, *record.config.update]
            config |= {item.key: json.loads(item.value_json) for item in changed}
            runs |= {record.run.run_id} - {""}
    assert len(runs) == 1
    return values, config


def wandb_records(file: Path) -> list[Any]:
    """wandb's own process ends its file a moment after the run is done with it."""
    from wandb.proto.wandb_internal_pb2 import Record

    for _ in range(3000):
        records = [Record.FromString(data) for data in leveldb_records(file.read_bytes()[7:], 7)]
        if any(record.HasField("exit") for record in records):
            return records
        time.sleep(0.01)
    raise AssertionError(f"{file} was not ended")


def leveldb_records(data: bytes, offset: int) -> Iterator[bytes]:
    """The records of a LevelDB log, as wandb writes it; wandb itself has no reader in Python."""
    whole, at = b"", 0
    while at < len(data):
        left = 32768 - (offset + at) % 32768
        if left < 7:
            at += left
            continue
        length, kind = int.from_bytes(data[at + 4 : at + 6], "little"), data[at + 6]
        if at + 7 + length > len(data):  # it is being written
            return
        whole += data[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in {1, 4}:  # a whole record, or the last part of one
            yield whole
            whole = b""


def in_mlflow(folder: Path) -> tuple[Told, dict[str, Any]]:
    import mlflow

    (known,) = mlflow.search_runs(experiment_names=["surefit"], output_format="list")
    client = mlflow.MlflowClient()
    histories = {
        name: client.get_metric_history(known.info.run_id, name) for name in known.data.metrics
    }
    assert known.info.run_name == folder.name
    values = {
        name: [(point.step, point.value) for point in sorted(points, key=lambda p: p.step)]
        for name, points in histories.items()
    }
    return values, known.data.params


READERS: dict[str, Callable[[Path], tuple[Told, dict[str, Any]]]] = {
    "tensorboard": in_tensorboard,
    "trackio": in_trackio,
    "wandb": in_wandb,
    "mlflow": in_mlflow,
}


@pytest.fixture(autouse=True)
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    import trackio
    from trackio import context_vars, sqlite_storage, utils

    PartialState(cpu=True)
    monkeypatch.setenv("WANDB_MODE", "offline")
    for name in ("WANDB_PROJECT", "TRACKIO_PROJECT", "WANDB_DIR", "MLFLOW_TRACKING_URI"):
        monkeypatch.delenv(name, raising=False)
    for module in (sqlite_storage, utils):
        monkeypatch.setattr(module, "TRACKIO_DIR", tmp_path / "trackio")
    yield
    left = context_vars.current_run.get()
    if left is not None:  # of a tracker that failed: its thread still runs
        trackio.finish()


@pytest.mark.parametrize("name", READERS)
def test_a_run_that_went_on_is_one_run_with_every_step_once(name: str, tmp_path: Path) -> None:
    run, trackers = started(tmp_path / "sft-1", name)
    with trackers:
        told(run, trackers, score(0, 0, 0.125), step(1, 4.0), step(2, 3.0), step(3, 2.0))

    # the checkpoint is of step 2: step 3 comes again, under the same number
    run, trackers = started(tmp_path / "sft-1", name)
    run.keep_metrics(lambda record: record["step"] <= 2)
    with trackers:
        told(run, trackers, step(3, 2.0), step(4, 1.0), score(4, 1, 0.75))

    values, config = READERS[name](tmp_path / "sft-1")
    assert values["train/loss"] == [(1, 4.0), (2, 3.0), (3, 2.0), (4, 1.0)]
    assert values["validation/f1"] == [(0, 0.125), (4, 0.75)]
    assert values["validation/exact_match"] == [(0, 0.25), (4, 0.25)]
    assert [value for _, value in values["train/learning_rate"]] == [RATE] * 4
    assert [value for _, value in values["train/gradient_norm"]] == [2.0] * 4
    assert [value for _, value in values["train/supervised_tokens"]] == [40] * 4
    assert str(config["epochs"]) == "2"
    assert config["lora_targets"] == "q_proj, v_proj"
    assert config["model"] == "embedded"


def test_where_to_look_is_said_once_for_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, trackers = started(tmp_path / "sft-1", "tensorboard", "trackio", "wandb", "wandb")
    trackers.finish()
    trackers.finish()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(": ")[0] for line in lines] == [
        "Reporting to tensorboard",
        "Reporting to trackio",
        "Reporting to wandb",
    ]
    assert f"tensorboard --logdir {tmp_path / 'sft-1' / 'tensorboard'}" in lines[0]
    assert "trackio show --project surefit" in lines[1]
    assert f"wandb sync {tmp_path / 'sft-1' / 'wandb'}" in lines[2]


@pytest.mark.parametrize("name", ["trackio", "wandb", "mlflow"])
def test_project_and_run_name_are_passed_on(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was asked for wins over what a variable says."""
    monkeypatch.setenv("WANDB_PROJECT", "other")
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "other")
    run = start_run(tmp_path / "sft-1", SETTINGS)
    asked = {**SETTINGS, "project": "debts", "run_name": "second try"}
    with start_trackers([name], asked, run, True) as trackers:
        tracker = trackers.active[name].tracker
        if name == "wandb":
            assert (tracker.project, tracker.name) == ("debts", "second try")
        if name == "mlflow":
            assert tracker.info.run_name == "second try"
    if name != "wandb":
        said = capsys.readouterr().out
        assert "debts" in said
        assert "second try" in said


def test_two_runs_of_one_name_are_two_runs(tmp_path: Path) -> None:
    for parent in ("here", "there"):
        run, trackers = started(tmp_path / parent / "sft-1", "trackio")
        with trackers:
            told(run, trackers, step(1, 1.0))
    with sqlite3.connect(tmp_path / "trackio" / "surefit.db") as opened:
        (runs,) = opened.execute("select count(distinct run_name) from metrics").fetchone()
    opened.close()
    assert runs == 2


def test_only_the_first_process_tells_anything(tmp_path: Path) -> None:
    run, trackers = started(tmp_path / "sft-1", *READERS, is_first=False)
    with trackers:
        told(run, trackers, step(1, 1.0))
    assert {file.name for file in run.path.iterdir()} == {"settings.json", "metrics.jsonl"}


def test_a_tracker_that_fails_is_told_no_more_and_the_others_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from accelerate.tracking import TrackioTracker

    run, trackers = started(tmp_path / "sft-1", "trackio", "tensorboard")
    with trackers:
        told(run, trackers, step(1, 4.0))
        capsys.readouterr()

        def fails(*_: object, **__: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(TrackioTracker, "log", fails)
        told(run, trackers, step(2, 3.0), step(3, 2.0))
    said = capsys.readouterr().out
    assert said.count("trackio failed at step 2") == 1
    assert "No space left on device" in said
    assert len(said.splitlines()) == 1
    assert [record["step"] for record in run.metrics()] == [1, 2, 3]
    assert in_tensorboard(run.path)[0]["train/loss"] == [(1, 4.0), (2, 3.0), (3, 2.0)]


def test_a_tracker_that_cannot_start_does_not_stop_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    start_run(tmp_path / "sft-1", SETTINGS)
    (tmp_path / "sft-1" / "tensorboard").write_text("a file where the folder should be")
    run, trackers = started(tmp_path / "sft-1", "tensorboard")
    with trackers:
        told(run, trackers, step(1, 1.0))
    said = capsys.readouterr().out
    assert said.startswith("tensorboard failed to start and gets no more metrics: ")
    assert len(said.splitlines()) == 1


def test_what_is_not_installed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    check_trackers(tuple(READERS))
    monkeypatch.setattr(trackers_file, "find_spec", lambda _: None)
    check_trackers(())
    with pytest.raises(WrongCall) as refused:
        check_trackers(("trackio", "wandb"))
    (finding,) = refused.value.findings
    assert finding.rule == "tracker-not-installed"
    assert "`trackio`, `wandb`" in finding.headline
    assert finding.fixes[0].text == "pip install trackio wandb"


def test_an_accelerate_without_these_trackers_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trackers_file, "version", lambda _: "1.8.1")
    check_trackers(())
    with pytest.raises(WrongCall, match=r"accelerate 1\.8\.1 is installed"):
        check_trackers(("tensorboard",))


DYING = """
import psutil
from pathlib import Path
from accelerate import PartialState
from surefit.train.record import start_run
from surefit.train.trackers import start_trackers

PartialState(cpu=True)
run = start_run(Path("sft-1"), {"epochs": 1})
with start_trackers(["wandb"], {"epochs": 1}, run, True) as trackers:
    trackers.add({"step": 1, "epoch": 1, "loss": 2.0})
    for process in psutil.Process().children():
        process.kill()
        process.wait()
    for step in range(2, 9):
        trackers.add({"step": step, "epoch": 1, "loss": 1.0})
print("trained to the end")
"""


@pytest.mark.slow
def test_wandb_asks_nothing_and_its_death_is_survived(tmp_path: Path) -> None:
    """On a terminal, without a login; its own process is killed in mid-run."""
    aside = ("WANDB", "NETRC")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(aside)}
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", DYING],
        cwd=tmp_path,
        env={**clean, "HOME": str(tmp_path)},
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
    ) as child:
        os.close(theirs)
        said = _until_closed(ours)
    assert child.returncode == 0
    assert "wandb is not logged in" in said
    assert "Enter your choice" not in said
    assert said.count("wandb failed at step") == 1
    assert "trained to the end" in said


def _until_closed(terminal: int) -> str:
    said = b""
    try:
        while more := os.read(terminal, 4096):
            said += more
    except OSError:  # how Linux says that the other end is closed
        pass
    finally:
        os.close(terminal)
    return said.decode()
