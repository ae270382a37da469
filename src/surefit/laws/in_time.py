"""What is certain while a run goes on: violations that nothing later can mend."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from surefit.doctor.diagnose import look_at
from surefit.doctor.findings import Finding, Severity
from surefit.doctor.progress import steps_taken
from surefit.doctor.recording import Recording
from surefit.laws.lasting import is_certain_now
from surefit.laws.law import BrokenLaw
from surefit.laws.runs import violations_in

CAUSE_LATER = "In a healthy run {}. The cause is looked for when the run has ended."
NO_RULE = "No rule knows why it is not so here."

Identity = tuple[str, str, str]
Tell = Callable[[Sequence[Finding]], None]


def identity(finding: Finding) -> Identity:
    """Numbers in the headline grow while the run goes on; this stays."""
    return finding.rule, str(finding.place), finding.about


@dataclass(slots=True)
class InTime:
    """Says what is certain, once; knows whether that ends the run."""

    tell: Tell
    stop_on: Severity | None = None
    said: dict[Identity, Finding] = field(default_factory=dict)
    suspected: dict[Identity, int] = field(default_factory=dict)
    """Optimizer steps at which each was first met."""

    def news(self, seen: Recording) -> bool:
        """Whether the run is to be ended."""
        steps = steps_taken(seen)
        fresh = []
        for finding in certain(seen):
            key = identity(finding)
            if key not in self.said and self.suspected.setdefault(key, steps) != steps:
                self.said[key] = finding
                fresh.append(finding)
        if fresh:
            self.tell(fresh)
        return any(self.ends(finding) for finding in fresh)

    def ends(self, finding: Finding) -> bool:
        severities = list(Severity)
        return self.stop_on is not None and (
            severities.index(finding.severity) <= severities.index(self.stop_on)
        )

    def was_said(self, finding: Finding) -> bool:
        return identity(finding) in self.said


def certain(seen: Recording) -> list[Finding]:
    """By violations alone; a rule that must ask does not speak yet, and the law speaks for it."""
    seen.open_questions.clear()
    cases = [
        (violation, case)
        for violation, case in violations_in(seen, [])
        if isinstance(violation, BrokenLaw) and is_certain_now(violation)
    ]
    if not cases:
        return []
    words = {case.about: violation.law.words for violation, case in cases}
    findings = look_at(cases, seen).findings
    asked = bool(seen.open_questions)
    return [
        replace(finding, why=CAUSE_LATER.format(words.get(finding.about, "it is not so")))
        if asked and NO_RULE in finding.why
        else finding
        for finding in findings
        if finding.severity is not Severity.NOTE
    ]
