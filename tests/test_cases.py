"""Every rule against its case: `bad.py` is diagnosed as `diagnosis.txt` says, `good.py` is clean.

`SUREFIT_UPDATE=1 pytest tests/test_cases.py` writes `diagnosis.txt` anew, for a person to read.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from surefit.doctor.catalogue import rules

pytestmark = pytest.mark.slow

CASES = Path(__file__).parent / "cases"
UPDATE = bool(os.environ.get("SUREFIT_UPDATE"))
RULES = [rule.name for rule in rules()]

PROOFS = {
    "ragged-labels": ["held"],
    "feature-width-mismatch": ["not-tried", "not-tried"],
    "view-of-a-slice": ["held"],
    "out-of-memory": ["held"],
    "died-without-exception": ["not-tried"],
    "swallowed-evaluation": ["not-tried"],
    "unrecognised-crash": [],
}
"""How each fix of the first finding was tried; for rules that are not here, at least one held."""

CURES = ("shallow-copy", "comprehension", "deepcopy", "list", "numpy", "json", "plain-dict")


@dataclass(frozen=True, slots=True)
class Ran:
    """What `surefit run` gave back."""

    code: int
    output: str
    document: dict[str, Any]

    @property
    def findings(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.document["findings"]
        return found

    @property
    def diagnosis(self) -> str:
        """All findings as they were shown."""
        begin = self.output.find("\n── ")
        return self.output[begin + 1 :] if begin >= 0 else ""


def run(folder: Path, script: Path, *arguments: str, proof: bool = True) -> Ran:
    """In a folder of its own, so that a script may write beside itself."""
    shutil.copy(script, folder)
    out = folder / "findings.json"
    flags = ["--json", str(out), "--proof" if proof else "--no-proof"]
    command = [sys.executable, "-m", "surefit", "run", *flags, script.name, *arguments]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    return Ran(done.returncode, done.stdout + done.stderr, json.loads(out.read_text()))


def settled(text: str) -> list[str]:
    """Line by line, without what differs from machine to machine: memory in use, times, how many
    steps and elements there was time to look at, and where such figures break a line."""
    text = re.sub(r"\n {9,}(?! *\^)", " ", text.strip())
    text = re.sub(r"\b[\d,.]+ ([kMG]B|bytes)\b", "N MB", text)
    text = re.sub(r"\b\d+ tensors\b", "N tensors", text)
    text = re.sub(r"\b[\d.]+ s\b", "N s", text)
    text = re.sub(r"\b\d+ steps? looked at", "N steps looked at", text)
    text = re.sub(r"\b[\d,]+ of [\d,]+ elements", "N of N elements", text)
    text = re.sub(r"\b[\d.]+%", "N%", text)
    text = re.sub(r"\.cpp:\d+", ".cpp", text)
    return [" ".join(line.split()) for line in text.splitlines()]


@pytest.mark.parametrize("rule", RULES)
def test_bad_is_diagnosed(rule: str, tmp_path: Path) -> None:
    ran = run(tmp_path, CASES / rule / "bad.py")
    accepted = CASES / rule / "diagnosis.txt"
    if UPDATE:
        accepted.write_text(ran.diagnosis.strip() + "\n", encoding="utf-8")
    assert settled(ran.diagnosis) == settled(accepted.read_text(encoding="utf-8"))
    assert ran.code != 0
    assert ran.findings[0]["rule"] == rule
    assert ran.findings[0]["place"]["file"] == "bad.py"
    proofs = [fix["proof"]["status"] for fix in ran.findings[0]["fixes"]]
    if rule in PROOFS:
        assert proofs == PROOFS[rule]
    else:
        assert "held" in proofs


@pytest.mark.parametrize("rule", RULES)
def test_good_is_clean(rule: str, tmp_path: Path) -> None:
    ran = run(tmp_path, CASES / rule / "good.py")
    assert ran.findings == []
    assert ran.code == 0


@pytest.mark.parametrize("cure", CURES)
def test_no_way_to_copy_cures_ragged_labels(cure: str, tmp_path: Path) -> None:
    ran = run(tmp_path, CASES / "ragged-labels" / "bad.py", cure, proof=False)
    assert "ValueError: expected sequence of length 512 at dim 1 (got 468)" in ran.output
    (finding,) = ran.findings
    assert finding["rule"] == "ragged-labels"
    assert finding["ruled_out"] == ["shared rows: no two rows share a list; a copy changes nothing"]
    line = (
        (CASES / "ragged-labels" / "bad.py").read_text().splitlines()[finding["place"]["line"] - 1]
    )
    assert line == "collate = DataCollatorForLanguageModeling(tokenizer, mlm=False)"


def test_the_numbers_of_a_matrix_product_are_decoded(tmp_path: Path) -> None:
    ran = run(tmp_path, CASES / "feature-width-mismatch" / "bad.py", proof=False)
    said = "mat1 and mat2 shapes cannot be multiplied (255744x4000 and 271x256)"
    assert said in ran.output
    (finding,) = ran.findings
    facts = {fact["name"]: fact["value"] for fact in finding["facts"]}
    assert facts["its input"].startswith("(256, 999, 4000)")
    assert [text.partition(":")[0] for text in finding["ruled_out"]] == [
        "swapped axes",
        "wrong reshape",
    ]
    told = " ".join([finding["headline"], *facts, *(fix["text"] for fix in finding["fixes"])])
    assert re.search("flatten|transpose|swap", told) is None
