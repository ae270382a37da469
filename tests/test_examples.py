"""The failures of the examples, word for word, and what is said about them."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from running import forked_run, surefit_run

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[1] / "examples"
DISTILLATION = "distillation_that_stands_still.py"


@pytest.fixture(scope="module")
def distillation(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, list[dict[str, Any]]]:
    """What the script printed, and the findings."""
    folder = tmp_path_factory.mktemp("distillation")
    shutil.copy(EXAMPLES / DISTILLATION, folder)
    ran = forked_run([DISTILLATION], folder)
    assert ran.code == 1
    return ran.out, ran.document["findings"]


def line_of(finding: dict[str, Any]) -> str:
    lines = (EXAMPLES / DISTILLATION).read_text(encoding="utf-8").splitlines()
    line: int = finding["place"]["line"]
    return lines[line - 1].strip()


def test_the_loss_stands_and_every_evaluation_fails(
    distillation: tuple[str, list[dict[str, Any]]],
) -> None:
    said, _ = distillation
    losses = [line.split("Loss=")[1] for line in said.splitlines() if "Loss=" in line]
    assert losses == ["9.7453"] * 12
    assert said.count("view size is not compatible with input tensor's size and stride") == 9
    assert said.count("PPL=10000.0") == 3


def test_evaluation_and_training_are_told_apart(
    distillation: tuple[str, list[dict[str, Any]]],
) -> None:
    _, findings = distillation
    sliced, clamp, swallowed, mode, idle = findings
    assert [one["rule"] for one in findings] == [
        "view-of-a-slice",
        "saturated-logits",
        "swallowed-evaluation",
        "evaluation-in-training-mode",
        "teacher-never-run",
    ]
    assert "expected.view(-1)" in line_of(sliced)
    assert any(text.startswith("mixed precision") for text in sliced["ruled_out"])
    assert line_of(clamp) == "return torch.clamp(logits, -10, 10)"
    assert line_of(swallowed) == "except Exception as error:"
    assert mode["place"]["line"] < swallowed["place"]["line"]
    assert "--offload_teacher" in line_of(idle)


def test_the_number_is_decoded_and_the_idle_teacher_named(
    distillation: tuple[str, list[dict[str, Any]]],
) -> None:
    _, (_, clamp, *_) = distillation
    facts = {fact["name"]: fact["value"] for fact in clamp["facts"]}
    assert facts["9.7453"] == (
        "= 0.9 × 10.828; 10.828 is ln 50257 (10.8249) in float16, the cost of a uniform guess"
    )
    assert "never run" in facts["`teacher`"]
    assert any(text.startswith("learning rate") for text in clamp["ruled_out"])


def test_each_fault_has_a_fix_that_held(distillation: tuple[str, list[dict[str, Any]]]) -> None:
    _, (sliced, clamp, swallowed, mode, idle) = distillation
    assert mode["rule"] == "evaluation-in-training-mode"
    assert [fix["proof"]["status"] for fix in mode["fixes"]] == ["held"]
    assert [fix["proof"]["status"] for fix in sliced["fixes"]] == ["held"]
    assert [fix["proof"]["status"] for fix in clamp["fixes"]] == ["held"]
    assert [fix["proof"]["status"] for fix in swallowed["fixes"]] == ["not-tried"]
    assert [fix["proof"]["status"] for fix in idle["fixes"]] == ["held"]


def test_a_memory_that_is_carried_over(tmp_path: Path) -> None:
    shutil.copy(EXAMPLES / "carried_memory.py", tmp_path)
    ran = forked_run(["carried_memory.py"], tmp_path)
    (finding,) = ran.document["findings"]
    assert finding["rule"] == "state-carried-without-detach"
    assert [fix["proof"]["status"] for fix in finding["fixes"]] == ["held"]


def test_gradients_that_add_up_are_told_while_the_run_goes_on(tmp_path: Path) -> None:
    shutil.copy(EXAMPLES / "gradients_add_up.py", tmp_path)
    ran = surefit_run(["gradients_add_up.py"], tmp_path, ["--no-proof", "--stop-on", "error"])
    assert ran.code == 1
    assert ran.rules() == ["gradients-never-cleared"]
    *epochs, last = ran.out.splitlines()
    assert last.startswith("stopped in epoch ")
    assert len(epochs) < 100
