"""`surefit.watch`, `surefit.Watch` and `surefit.check`, in a process that trains by itself."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parent / "watched_trainings.py"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("watched")
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(folder)],
        cwd=SCRIPT.parent, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_a_healthy_loop_is_left_as_it_is(results: Any) -> None:
    assert results["same losses"]
    assert results["after watching"]
    assert results["healthy"] == []


def test_a_fault_is_found_each_time(results: Any) -> None:
    expected = [["parameters-outside-the-optimizer", "not-tried"]]
    assert results["faulty"] == expected
    assert results["faulty again"] == expected


def test_training_is_stopped_where_that_is_wanted(results: Any) -> None:
    assert results["stopped"] == ["parameters-outside-the-optimizer"]


def test_a_check_undoes_its_steps(results: Any) -> None:
    assert results["check finds"] == []
    assert results["check undoes"] == [True] * 5
    assert "a pair (inputs, targets) or a mapping" in results["check refuses"]


def test_callbacks_of_both_trainers(results: Any) -> None:
    assert results["trainer"] == []
    assert results["lightning"] == []
