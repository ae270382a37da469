"""Findings as one JSON document."""

import json
from pathlib import Path

import pytest

from surefit.doctor.findings import Fact, Finding, Fix, Place, Proof, Severity
from surefit.render.json_document import Ended, document, write

FOUND = Finding(
    "ragged-labels",
    "SF201",
    Severity.ERROR,
    Place("train.py", 28, 30),
    "`labels` are ragged.",
    facts=(Fact("lengths", "3, 4"),),
    ruled_out=(Fact("shared rows", "none are"),),
    why="Nobody pads them.",
    fixes=(
        Fix("Pad them.", patch="--- a\n+++ b\n", proof=Proof("held", "tried on a copy")),
        Fix("Or drop them.", choice=True),
    ),
    python_said="ValueError: …",
)


def test_the_document_keeps_its_contract() -> None:
    made = document("run", Ended(1, "ValueError: …"), [FOUND], script="train.py")
    assert json.loads(made) == {
        "surefit": "0.1.0",
        "schema": 2,
        "command": "run",
        "script": "train.py",
        "ended": {"code": 1, "exception": "ValueError: …"},
        "findings": [
            {
                "rule": "ragged-labels",
                "code": "SF201",
                "severity": "error",
                "place": {"file": "train.py", "line": 28, "end_line": 30},
                "headline": "`labels` are ragged.",
                "facts": [{"name": "lengths", "value": "3, 4"}],
                "ruled_out": ["shared rows: none are"],
                "why": "Nobody pads them.",
                "fixes": [
                    {
                        "text": "Pad them.",
                        "patch": "--- a\n+++ b\n",
                        "choice": False,
                        "proof": {"status": "held", "said": "tried on a copy"},
                    },
                    {"text": "Or drop them.", "patch": None, "choice": True, "proof": None},
                ],
                "python_said": "ValueError: …",
            }
        ],
        "not_observed": [],
    }


def test_a_row_is_told_where_there_is_one() -> None:
    found = Finding("a", "SF900", Severity.NOTE, Place("a.parquet", row=7), "\udc80 \x1b")
    made = json.loads(document("sft", Ended(0), [found], not_observed=["the GPU"], parts={"x": 1}))
    assert made["findings"][0]["place"] == {
        "file": "a.parquet",
        "line": None,
        "end_line": None,
        "row": 7,
    }
    assert made["findings"][0]["headline"] == "\\udc80 \x1b"
    assert made["not_observed"] == ["the GPU"]
    assert made["x"] == 1


def test_a_document_is_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "findings.json"
    write(file, b"old")
    write(file, b"new")
    assert file.read_bytes() == b"new"

    def full(_self: Path, _target: Path) -> Path:
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="disk full"):
        write(file, b"newest")
    assert file.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [file]
