"""What is measured of gradients and learning rates, on real steps in one process."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

RUNNER = Path(__file__).parent / "run_gradients.py"


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    out = tmp_path_factory.mktemp("gradients") / "out.json"
    subprocess.run([sys.executable, str(RUNNER), str(out)], check=True)
    found: dict[str, Any] = json.loads(out.read_text())
    return found


@pytest.mark.parametrize(
    ("way", "count"),
    [
        ("healthy", "own"),
        ("never", "carried"),
        ("late", "emptied"),
        ("accumulated", "own"),
        ("cut", "cut"),
    ],
)
def test_every_step_that_was_looked_at(measured: dict[str, Any], way: str, count: str) -> None:
    gradients = measured[way]["gradients"]
    assert gradients["looked"] == 11  # all but the first, before which nothing is known
    assert gradients[count] == 11


def test_a_second_step_uses_the_same_gradients(measured: dict[str, Any]) -> None:
    gradients = measured["twice"]["gradients"]
    assert gradients["again"] == 12
    assert gradients["own"] == 11


def test_passes_of_one_step_are_a_group(measured: dict[str, Any]) -> None:
    gradients = measured["accumulated"]["gradients"]
    assert gradients["groups"] == [[3, 11]]
    assert gradients["undivided"] >= 30
    assert gradients["divided"] == 0


def test_gradients_that_are_carried_on_grow(measured: dict[str, Any]) -> None:
    gradients = measured["never"]["gradients"]
    assert gradients["most_passes"] == 9  # of the first ones
    assert gradients["norm_used"] > 2 * gradients["norm_own"]


def test_a_rate_and_its_schedule(measured: dict[str, Any]) -> None:
    (rate,), (schedule,) = measured["decayed"]["rates"], measured["decayed"]["schedules"]
    assert (rate["steps"], rate["highest"], rate["low"]) == (12, 0.01, 8)
    assert (rate["low_from"], rate["fallen"]) == (4, 11)
    assert (schedule["calls"], schedule["position"]) == (12, 12)
    assert schedule["optimizer"] == rate["serial"]
