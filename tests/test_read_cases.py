"""Cases whose fault can be seen in the source alone: `surefit lint` names it, and nothing else."""

from pathlib import Path

import pytest

from surefit.doctor.diagnose import look
from surefit.doctor.observations import Script
from surefit.doctor.recording import Recording

CASES = Path(__file__).parent / "cases"
READABLE = {
    "argument-not-taken": [6, 13],
    "checkpoint-of-a-frozen-input": [21],
    "dtype-of-another-kind": [19],
    "frozen-parameters-to-train": [21],
    "gradient-that-is-none": [21],
    "graph-made-before-the-loop": [14],
    "graph-used-by-two-losses": [18],
    "inference-tensor-in-training": [13],
    "layer-made-to-fit": [18],
    "leaf-changed-in-place": [11],
    "logarithm-misplaced": [15],
    "loss-cut-from-the-model": [18],
    "loss-is-no-scalar": [9],
    "name-not-in-library": [9, 17],
    "needed-value-overwritten": [15],
    "state-carried-without-detach": [27],
    "step-before-backward": [22],
    "tensor-not-moved": [16],
    "training-without-recording": [12],
    "unregistered-buffer": [16],
}
"""The lines of `bad.py` at which its rule speaks."""


def said(file: Path) -> list[tuple[str, int | None]]:
    script = Script(file.name, file.read_text(encoding="utf-8"), main=True)
    diagnosis = look(Recording([script]))
    assert diagnosis.broken_rules == ()
    return sorted((one.rule, one.place.line) for one in diagnosis.findings)


@pytest.mark.parametrize("name", READABLE)
def test_the_fault_is_read(name: str) -> None:
    found = [line for rule, line in said(CASES / name / "bad.py") if rule == name]
    assert found == READABLE[name]


@pytest.mark.parametrize("folder", sorted(CASES.iterdir()), ids=lambda folder: folder.name)
def test_nothing_is_said_of_the_mended_one(folder: Path) -> None:
    if (folder / "good.py").is_file():
        assert said(folder / "good.py") == []


CLEAN = sorted((Path(__file__).parent / "clean").rglob("*.py"))


@pytest.mark.parametrize("file", CLEAN, ids=lambda file: file.stem)
def test_nothing_is_said_of_healthy_scripts(file: Path) -> None:
    assert said(file) == []
