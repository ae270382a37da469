"""What a rule finds in a crash that was put together by hand."""

from collections.abc import Mapping, Sequence

from lineages import Step, lineage_answer
from surefit.doctor.findings import Finding
from surefit.doctor.observations import Crash, Observation, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.laws.crashes import violations_in
from surefit.source.edits import patched
from surefit.source.reading import Source

FILE = "train.py"
Chains = Mapping[tuple[int, str], Sequence[Step]]


def look(
    rule: Rule, text: str, crash: Crash, *more: Observation, chains: Chains | None = None
) -> list[Finding]:
    """With what a second run tells of values; without that, nothing is known of any."""
    lineage = lineage_answer(crash, Source(FILE, text), chains or {})
    recording = Recording([Script(FILE, text), crash, *more, lineage])
    broken: list[str] = []
    findings = list(rule.look(recording, violations_in(recording, broken)))
    assert broken == []
    return findings


def mended(finding: Finding, text: str, number: int = 0) -> str:
    """The source with one of its fixes."""
    edit = finding.fixes[number].edit
    assert edit is not None
    return patched(edit, text)
