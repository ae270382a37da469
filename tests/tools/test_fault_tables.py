"""`make faults`, shortened; and that its comparisons see a loss."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from tools.faults.ends import losses_of, nearly
from tools.faults.outcomes import Outcome, table

CHECKOUT = Path(__file__).parents[2]


@pytest.fixture
def runs(tmp_path: Path) -> tuple[Path, Path]:
    """Two runs that differ in nothing but what a machine needs."""
    for seconds, name in enumerate(("whole", "other")):
        run = tmp_path / name
        (run / "model").mkdir(parents=True)
        metrics = [{"step": step, "loss": 1.0 / step, "peak_memory": seconds} for step in (1, 2)]
        (run / "metrics.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in metrics))
        report = {"folder": str(run), "steps": 2, "seconds": seconds}
        (run / "report.json").write_text(json.dumps(report))
        save_file({"weight": np.ones(3, np.float32)}, run / "model" / "model.safetensors")
    return tmp_path / "whole", tmp_path / "other"


def test_equal_runs_have_lost_nothing(runs: tuple[Path, Path]) -> None:
    assert losses_of(*runs) == []
    assert nearly(*runs) == []


def test_what_was_lost_is_named(runs: tuple[Path, Path]) -> None:
    whole, other = runs
    (other / "metrics.jsonl").write_text('{"step": 1, "loss": 1.0}\n')
    (other / "report.json").write_text(json.dumps({"folder": str(other), "steps": 1}))
    weights = np.array([1, 1, np.nextafter(np.float32(1), 2)], np.float32)
    save_file({"weight": weights}, other / "model" / "model.safetensors")
    (other / ".step-1.part").mkdir()
    assert losses_of(whole, other) == [
        "metrics.jsonl from line 2",
        "report.json: steps",
        "model/model.safetensors",
        "left behind: .step-1.part",
    ]
    assert nearly(whole, other)[0] == "metrics.jsonl: 1 lines for 2"


def test_losses_of_other_processes_may_be_rounded_otherwise(runs: tuple[Path, Path]) -> None:
    whole, other = runs
    lines = ['{"step": 1, "loss": 1.0001}\n', '{"step": 2, "loss": 0.5}\n']
    (other / "metrics.jsonl").write_text("".join(lines).replace("}", ', "peak_memory": 0}'))
    assert nearly(whole, other) == []
    (other / "metrics.jsonl").write_text("".join(lines).replace("0.5", "0.51"))
    assert nearly(whole, other) == ["metrics.jsonl line 2: loss 0.51 for 0.5"]


def test_the_table_counts_losses() -> None:
    outcome = Outcome("killed")
    outcome.add("seed 1", [])
    outcome.add("seed 2", ["report.json"])
    assert table([outcome]).splitlines()[2].split("|")[1:4] == [
        " killed ",
        "     2 ",
        " something, 1 times ",
    ]


@pytest.mark.slow
def test_a_run_that_is_killed_loses_nothing() -> None:
    """Other moments every time; the seed stands in what is printed."""
    seed = str(time.time_ns() % 10_000)
    ran = subprocess.run(
        [sys.executable, "-m", "tools.faults", "--short", "--seed", seed],
        cwd=CHECKOUT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert f"seed {seed}, " in ran.stdout
    assert "a second run on the folder of one that trains" in ran.stdout
