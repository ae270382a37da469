"""Crashes at a collator, made by hand for tests of rules about rows that cannot be stacked."""

from collections.abc import Mapping, Sequence

from lineages import Step, lineage_answer
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import (
    CollatorSeen,
    Crash,
    Frame,
    Observation,
    Process,
    Script,
)
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.laws.crashes import violations_in
from surefit.source.edits import patched
from surefit.source.reading import Source

FILE = "train.py"
Chains = Mapping[tuple[int | str, str], Sequence[Step]]


def loop(line: int, text: str = "trainer.train()") -> Frame:
    return Frame(Place(FILE, line), "<module>", own=True, line=text)


def found(
    rule: Rule,
    text: str,
    collator: CollatorSeen | None,
    *frames: Frame,
    chains: Chains | None = None,
    more: Sequence[Observation] = (),
) -> list[Finding]:
    """Of this rule alone; without chains, nothing is known of where any value came from."""
    crash = Crash("1-1", 1.0, Process(1), "ValueError", "it", frames, collator=collator)
    answer = lineage_answer(crash, Source(FILE, text), chains or {})
    recording = Recording([Script(FILE, text), crash, answer, *more])
    broken: list[str] = []
    findings = list(rule.look(recording, violations_in(recording, broken)))
    assert broken == []
    return findings


def mended(text: str, finding: Finding, number: int = 0) -> str:
    edit = finding.fixes[number].edit
    assert edit is not None
    return patched(edit, text)
