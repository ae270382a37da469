"""What `surefit lint` says of the cases: the rule by its name, and nothing of the mended ones."""

import re
from pathlib import Path

import pytest

from surefit.cli.lint import read

CASES = Path(__file__).parent / "cases"
NOT_THE_LINE_OF_A_RUN = {"skip-of-another-size"}
"""A run tells the line that chose the size; the source alone where the two sizes meet."""
NAMED = (
    "adapter-targets-missing",
    "checkpoint-needs-unpickling",
    "checkpoint-of-a-frozen-input",
    "checkpoint-of-another-model",
    "checkpoint-of-other-sizes",
    "dtype-of-another-kind",
    "frozen-parameters-to-train",
    "gradient-that-is-none",
    "graph-made-before-the-loop",
    "graph-used-by-two-losses",
    "ids-beyond-the-table",
    "inference-tensor-in-training",
    "joined-widths-differ",
    "key-not-saved",
    "leaf-changed-in-place",
    "logit-widths",
    "loss-cut-from-the-model",
    "loss-is-no-scalar",
    "mask-lacks-axes",
    "needed-value-overwritten",
    "optimizer-of-other-parameters",
    "optimizer-state-misplaced",
    "padding-outside-the-table",
    "parameters-outside-the-optimizer",
    "pictures-in-another-layout",
    "positions-beyond-the-table",
    "product-does-not-fit",
    "reshape-does-not-fit",
    "skip-of-another-size",
    "state-carried-without-detach",
    "state-dict-prefix",
    "step-before-backward",
    "tensor-not-moved",
    "training-without-recording",
    "unregistered-buffer",
    "view-of-a-slice",
    "whole-checkpoint-loaded",
    "width-not-divisible",
)


@pytest.mark.parametrize("name", NAMED)
def test_a_fault_is_named_by_reading_alone(name: str) -> None:
    folder = CASES / name
    found, broken = read(folder / "bad.py", folder)
    assert broken == []
    assert [one.rule for one in found] == [name]
    said = (folder / "diagnosis.txt").read_text(encoding="utf-8")
    line = re.search(r"bad\.py:(\d+) ── SF", said)
    assert line is not None
    if name not in NOT_THE_LINE_OF_A_RUN:
        assert found[0].place.line == int(line[1])
    assert all(fix.proof is not None and fix.proof.status == "not-tried" for fix in found[0].fixes)


@pytest.mark.parametrize("name", sorted(one.name for one in CASES.iterdir() if one.is_dir()))
def test_nothing_is_said_of_a_mended_case(name: str) -> None:
    folder = CASES / name
    if (folder / "good.py").is_file():
        assert read(folder / "good.py", folder) == ([], [])
