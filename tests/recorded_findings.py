"""What rules find in a crash that was put together by hand, with answers and lineages."""

from collections.abc import Mapping, Sequence
from typing import Any

from lineages import Step, lineage_answer
from surefit.doctor.findings import Finding
from surefit.doctor.observations import Answer, Crash, Question, Script, Value
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.laws.crashes import violations_in
from surefit.source.edits import patched
from surefit.source.reading import Source

Chains = Mapping[tuple[int, str], Sequence[Step]]


def found(
    rules: Rule | Sequence[Rule],
    text: str,
    crash: Crash,
    *answers: Answer,
    file: str = "train.py",
    chains: Chains | None = None,
) -> list[Finding]:
    """`chains`: see `lineages`; without one, nothing is known of where a value came from."""
    lineage = lineage_answer(crash, Source(file, text), chains or {})
    recording = Recording([Script(file, text, main=True), crash, *answers, lineage])
    broken: list[str] = []
    cases = violations_in(recording, broken)
    every = [rules] if isinstance(rules, Rule) else rules
    findings = [finding for rule in every for finding in rule.look(recording, cases)]
    assert broken == []
    return findings


def answer(kind: str, said: Any, **about: Any) -> Answer:
    return Answer(Question(kind, "1-1", about), said)


def number(count: int, text: str = "n") -> Value:
    return Value(text, "int", scalar=count)


def mended(finding: Finding, text: str, fix: int = 0) -> str:
    edit = finding.fixes[fix].edit
    assert edit is not None
    return patched(edit, text)
