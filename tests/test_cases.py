"""Every rule against its case: `bad.py` is diagnosed as `diagnosis.txt` says, `good.py` is clean.

`SUREFIT_UPDATE=1 pytest tests/test_cases.py` writes `diagnosis.txt` anew, for a person to read.
"""

import os
import re
import shutil
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version

from running import forked_run, surefit_run
from surefit.doctor.catalogue import rules

pytestmark = pytest.mark.slow

CASES = Path(__file__).parent / "cases"
UPDATE = bool(os.environ.get("SUREFIT_UPDATE"))
RULES = [rule.name for rule in rules()]
REALLY = {rule.code[:3]: rule.name for rule in reversed(rules())}.values()
"""One of each family."""
GENERAL = [rule.name for rule in rules() if rule.general]
MEETING = ("ranks-share-rows",)
"""Scripts that fork processes which meet: not in a fork themselves, where they can wait forever."""
UNFORKED = ("extra-axis-in-rows",)
"""With the oldest libraries, a second run that is forked in this test shows nothing of its
tokenizer; as a user starts it, it does."""

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


def skip_where_it_cannot_fail(rule: str) -> None:
    """The last line of `bad.py` can name the library that brought it: `# needs datasets>=4`."""
    text = (CASES / rule / "bad.py").read_text(encoding="utf-8")
    for name, least in re.findall(r"^# needs (\w+)>=([\d.]+)$", text, re.MULTILINE):
        if Version(version(name)) < Version(least):
            pytest.skip(f"{name} {version(name)} does not fail so")


def run(
    folder: Path, script: Path, *arguments: str, proof: bool = True, really: bool = False
) -> Ran:
    """In a folder of its own, so that a script may write beside itself; `really`: as a user does,
    with nothing imported beforehand."""
    shutil.copy(script, folder)
    way = surefit_run if really else forked_run
    flags = ["--proof" if proof else "--no-proof", "--no-in-time"]
    ran = way([script.name, *arguments], folder, flags)
    return Ran(ran.code, ran.out + ran.err, ran.document)


def settled(text: str) -> list[str]:
    """Line by line, without what differs from machine to machine: memory in use, times, numbers of
    processes, how many steps and elements there was time to look at, and where such figures break
    a line."""
    text = re.sub(r"\n {9,}(?! *\^)", " ", text.strip())
    text = re.sub(r"\b[\d,.]+ ([kMG]B|bytes)\b", "N MB", text)
    text = re.sub(r"\b\d+ tensors\b", "N tensors", text)
    text = re.sub(r"\b[\d.]+ s\b", "N s", text)
    text = re.sub(r"\b\d+ steps? looked at", "N steps looked at", text)
    text = re.sub(r"\b[\d,]+ of [\d,]+ elements", "N of N elements", text)
    text = re.sub(r"\b\d+ of \d+ times\b", "N of N times", text)
    text = re.sub(r"\b[\d.]+%", "N%", text)
    text = re.sub(r"\.cpp:\d+", ".cpp", text)
    text = re.sub(r"\(pid\(s\) \d+\)", "(pid(s) N)", text)
    return [" ".join(line.split()) for line in text.splitlines()]


def in_outline(text: str) -> list[str]:
    """Rule and place of each finding, and what was done about each fix: these are the same whatever
    versions of libraries say and do."""
    heads = re.findall(r"^── (.*?) ─+ (\S.*?) ── SF\d+$", text, re.MULTILINE)
    tried = r"^  proof +(tried on a copy(?:, and it did not|, which)?|re-executed|not tried|)"
    proofs = re.findall(tried, text, re.MULTILINE)
    return [*(" ".join(head) for head in heads), *proofs]


def has_pinned_versions() -> bool:
    """Those with which `diagnosis.txt` was written; `make test-oldest` has others."""
    lines = (Path(__file__).parents[1] / "constraints.txt").read_text().splitlines()
    pinned = dict(line.split("==") for line in lines if "==" in line)
    return all(
        version(name).partition("+")[0] == pinned[name]
        for name in ("torch", "transformers", "peft", "accelerate", "datasets", "tokenizers")
    )


PINNED = has_pinned_versions()
as_accepted = settled if PINNED else in_outline


@pytest.mark.parametrize("rule", RULES)
def test_bad_is_diagnosed(rule: str, tmp_path: Path) -> None:
    skip_where_it_cannot_fail(rule)
    really = rule in MEETING or (rule in REALLY if PINNED else rule in UNFORKED)
    ran = run(tmp_path, CASES / rule / "bad.py", really=really)
    accepted = CASES / rule / "diagnosis.txt"
    if UPDATE:
        accepted.write_text(ran.diagnosis.strip() + "\n", encoding="utf-8")
    assert as_accepted(ran.diagnosis) == as_accepted(accepted.read_text(encoding="utf-8"))
    assert (ran.code != 0) == (ran.findings[0]["severity"] == "error")
    assert ran.findings[0]["rule"] == rule
    assert ran.findings[0]["place"]["file"] == "bad.py"
    proofs = [fix["proof"] for fix in ran.findings[0]["fixes"]]
    assert any(proof["status"] == "held" for proof in proofs) or says_why(proofs, rule)


def says_why(proofs: list[dict[str, str]], rule: str) -> bool:
    """Nothing was tried, each time for a reason; a general rule knows no fix at all."""
    reasons = [proof["status"] == "not-tried" and bool(proof["said"]) for proof in proofs]
    return all(reasons) and (bool(reasons) or rule in GENERAL)


@pytest.mark.parametrize("rule", RULES)
def test_good_is_clean(rule: str, tmp_path: Path) -> None:
    ran = run(tmp_path, CASES / rule / "good.py", really=rule in MEETING)
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
    said = "mat1 and mat2 shapes cannot be multiplied (7992x4000 and 271x256)"
    assert said in ran.output
    (finding,) = ran.findings
    facts = {fact["name"]: fact["value"] for fact in finding["facts"]}
    assert facts["`features`"].startswith("float32 (8, 999, 4000)")
    assert [text.partition(":")[0] for text in finding["ruled_out"]] == [
        "swapped axes",
        "wrong reshape",
    ]
    told = " ".join([finding["headline"], *facts, *(fix["text"] for fix in finding["fixes"])])
    assert re.search("flatten|transpose|swap", told) is None
