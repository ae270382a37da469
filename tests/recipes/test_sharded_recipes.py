"""`pretrain` and `distill` sharded by FSDP over two processes: trained, stopped, resumed, saved."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file
from sharded_runs import STOPPED_AFTER

from surefit.errors import WrongCall
from surefit.recipes.distill_settings import Distillation
from surefit.recipes.distill_teacher import check_shards

CHECKOUT = Path(__file__).parents[2]
STEPS = {"pretrain": 13, "distill": 10}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`RECIPE/alone` of one process, and `RECIPE/sharded` of two, stopped once and resumed."""
    place = tmp_path_factory.mktemp("runs")
    ran = subprocess.run(
        [sys.executable, Path(__file__).with_name("sharded_runs.py"), place],
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(CHECKOUT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert ran.returncode == 0, ran.stderr
    return place


def records(run: Path, name: str) -> list[Any]:
    lines = (run / "metrics.jsonl").read_text().splitlines()
    return [record[name] for record in map(json.loads, lines) if name in record]


@pytest.mark.slow
@pytest.mark.parametrize("recipe", STEPS)
def test_every_process_holds_half_of_every_weight(runs: Path, recipe: str) -> None:
    notes = [json.loads((runs / recipe / f"rank-{rank}.json").read_text()) for rank in (0, 1)]
    for note in notes:
        assert note["sharded"] == note["tensors"] > 0
        assert note["held"] == pytest.approx(note["weights"] / 2, rel=0.02)
        assert note["groups"] >= 3, "layers are put together one by one, not the whole model"
    assert notes[0]["held"] + notes[1]["held"] == notes[0]["weights"]


@pytest.mark.slow
@pytest.mark.parametrize("recipe", STEPS)
def test_stopped_and_resumed_it_takes_the_steps_of_one_process(runs: Path, recipe: str) -> None:
    alone, sharded = (runs / recipe / name for name in ("alone", "sharded"))
    assert records(sharded, "step") == records(alone, "step")
    assert f"Stopped after step {STOPPED_AFTER} " in (runs / recipe / "first-0.txt").read_text()
    for name in ("loss", "gradient_norm", "validation_loss", "cross_entropy", "divergence"):
        assert records(sharded, name) == pytest.approx(records(alone, name), rel=1e-4), name
    assert len(records(sharded, "loss")) == STEPS[recipe]
    checkpoint = sharded / "checkpoints" / f"step-{STEPS[recipe]:07d}"
    assert len(list(checkpoint.glob("*.distcp"))) == 2


@pytest.mark.slow
@pytest.mark.parametrize("recipe", STEPS)
def test_the_weights_that_are_saved_are_whole(runs: Path, recipe: str) -> None:
    first, second = (
        load_file(runs / recipe / name / "model" / "model.safetensors")
        for name in ("alone", "sharded")
    )
    assert first.keys() == second.keys()
    for name, weight in first.items():
        assert second[name].shape == weight.shape
        assert second[name].sub(weight).abs().max() < 1e-3, name


def test_a_sharded_student_writes_no_answers() -> None:
    check_shards(Distillation(on_policy=0.5), sharded=False)
    check_shards(Distillation(on_policy=0.0), sharded=True)
    with pytest.raises(WrongCall, match=r"`--on-policy 0\.5`"):
        check_shards(Distillation(on_policy=0.5), sharded=True)
