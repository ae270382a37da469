"""A rule: the name and explanation of one known fault, and the checks that find it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.symptoms import Symptom

if TYPE_CHECKING:
    from surefit.doctor.recording import Recording

Check = TypeVar("Check", bound=Callable[..., Iterable[Finding]])


@dataclass(frozen=True, slots=True)
class Rule:
    """One known fault. The code only groups and sorts; it is never used for another fault."""

    code: str
    name: str
    severity: Severity
    explanation: str
    general: bool = False
    """Gives way to every other rule that has something to say about the same fault."""
    symptoms: tuple[Symptom, ...] = ()
    """How it looks in a traceback alone: see `surefit explain -`."""
    checks: list[tuple[type[Any], Callable[..., Iterable[Finding]]]] = field(
        default_factory=list, compare=False, repr=False
    )

    def on(self, kind: type[Any]) -> Callable[[Check], Check]:
        """Marks a check: a pure function of an observation of this kind and of the recording."""

        def mark(check: Check) -> Check:
            self.checks.append((kind, check))
            return check

        return mark

    def look(self, seen: "Recording") -> Iterable[Finding]:
        """Every finding of this rule on a recording."""
        for kind, check in self.checks:
            for observation in list(seen.all(kind)):
                yield from (on_rank(found, observation) for found in check(observation, seen))

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
        about: str = "",
        severity: Severity | None = None,
    ) -> Finding:
        return Finding(
            self.name,
            self.code,
            severity or self.severity,
            place,
            headline,
            tuple(facts),
            tuple(ruled_out),
            why,
            tuple(fixes),
            python_said,
            about,
        )


def on_rank(finding: Finding, observation: object) -> Finding:
    """The finding, with the rank of the process in which it was seen."""
    rank = getattr(getattr(observation, "process", None), "rank", None)
    return finding if finding.ranks or rank is None else replace(finding, ranks=(rank,))


def refusal(code: str, name: str, explanation: str) -> Rule:
    """A rule for input that surefit will not work on; it stands beside the check that makes it."""
    return Rule(code, name, Severity.ERROR, explanation)
