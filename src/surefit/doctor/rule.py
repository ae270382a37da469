"""A rule: the name and explanation of one known fault, from which its findings are made."""

from collections.abc import Sequence
from dataclasses import dataclass

from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity


@dataclass(frozen=True, slots=True)
class Rule:
    """One known fault. The code only groups and sorts; it is never used for another fault."""

    code: str
    name: str
    severity: Severity
    explanation: str

    def finding(
        self,
        place: Place,
        headline: str,
        *,
        facts: Sequence[Fact] = (),
        ruled_out: Sequence[Fact] = (),
        why: str = "",
        fixes: Sequence[Fix] = (),
        python_said: str = "",
    ) -> Finding:
        return Finding(
            self.name,
            self.code,
            self.severity,
            place,
            headline,
            tuple(facts),
            tuple(ruled_out),
            why,
            tuple(fixes),
            python_said,
        )


def refusal(code: str, name: str, explanation: str) -> Rule:
    """A rule for input that surefit will not work on; it stands beside the check that makes it."""
    return Rule(code, name, Severity.ERROR, explanation)
