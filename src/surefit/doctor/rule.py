"""A rule: the name and explanation of one known fault, and the checks that find it."""

import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Violation

if TYPE_CHECKING:
    from surefit.doctor.recording import Recording

Found = Finding | Iterable[Finding] | None
Check = TypeVar("Check", bound=Callable[..., Found])


class Unanswered(Exception):  # noqa: N818 - it is no error
    """A rule asked what is not known yet. The engine has it answered, and calls the rule again."""


class Shown(Protocol):
    """What a rule is given beside a violation: see `surefit.laws.case.Case`."""

    @property
    def crash(self) -> object: ...

    def shown_to(self, rule: "Rule") -> Any: ...


Cases = Sequence[tuple[Violation, Shown]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One known fault. The code only groups and sorts; it is never used for another fault."""

    code: str
    name: str
    severity: Severity
    explanation: str
    general: bool = False
    """Gives way to every other rule that has something to say about the same fault."""
    supposes: bool = False
    """What it says of a fault that no other rule explains is said only where its fix holds."""
    symptoms: tuple[Symptom, ...] = ()
    """How it looks in a traceback alone: see `surefit explain -`."""
    checks: list[tuple[type[Any], Callable[..., Found]]] = field(
        default_factory=list, compare=False, repr=False
    )

    def on(self, kind: type[Any]) -> Callable[[Check], Check]:
        """Marks a check: a pure function of a violation of this kind and its case, or of an
        observation of this kind and the recording."""

        def mark(check: Check) -> Check:
            self.checks.append((kind, check))
            return check

        return mark

    def look(self, recording: "Recording", cases: Cases = ()) -> Iterator[Finding]:
        """Every finding of this rule; a check that waits for an answer has none yet."""
        for kind, check in self.checks:
            if issubclass(kind, Violation):
                for violation, case in cases:
                    if isinstance(violation, kind):
                        for finding in findings_of(check, violation, case.shown_to(self)):
                            yield on_rank(finding, case.crash)
            else:
                for observation in list(recording.all(kind)):
                    for finding in findings_of(check, observation, recording):
                        yield on_rank(finding, observation)

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


def findings_of(check: Callable[..., Found], *given: object) -> list[Finding]:
    """What a check returns, as a list; nothing while it waits for an answer."""
    try:
        found = check(*given)
        if found is None:
            return []
        return [found] if isinstance(found, Finding) else list(found)
    except Unanswered:
        return []


def failed(what: str, error: Exception) -> str:
    """One line about a rule or a law that failed itself."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{what} failed: {type(error).__name__}: {error} (line {last.lineno})"


def on_rank(finding: Finding, observation: object) -> Finding:
    """The finding, with the rank of the process in which it was seen."""
    rank = getattr(getattr(observation, "process", None), "rank", None)
    return finding if finding.ranks or rank is None else replace(finding, ranks=(rank,))


def refusal(code: str, name: str, explanation: str) -> Rule:
    """A rule for input that surefit will not work on; it stands beside the check that makes it."""
    return Rule(code, name, Severity.ERROR, explanation)
