"""Which rules could be behind a traceback, and what would decide: a message alone is no cause."""

from collections.abc import Sequence
from dataclasses import dataclass

from surefit.doctor.findings import Fact, Finding, Fix, Place, Proof, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.tracebacks import Traceback

NO_VALUES = "a traceback holds no values"


@dataclass(frozen=True, slots=True)
class Suspect:
    """A rule that fits what Python said, and what must be known to decide whether it is that."""

    rule: Rule
    decides: str


def suspects(told: Traceback, catalogue: Sequence[Rule]) -> tuple[Suspect, ...]:
    """In the order of the rules, by the first exception of the chain that any of them fits; what a
    library made of it says less. A general rule only where no other fits."""
    passed = tuple(f"{frame.file}:{frame.function}" for frame in told.frames)
    general: list[Suspect] = []
    for raised in told.chain:
        found = [
            Suspect(rule, decides)
            for rule in catalogue
            if (decides := fitting(rule, raised.said, passed))
        ]
        known = tuple(one for one in found if not one.rule.general)
        if known:
            return known
        general = general or found
    return tuple(general)


def fitting(rule: Rule, said: str, passed: tuple[str, ...]) -> str:
    """What the first symptom of a rule that fits says, or nothing."""
    fits = (one.decides for one in rule.symptoms if one.fits(said, passed))
    return next(fits, "")


def as_findings(
    found: Sequence[Suspect], told: Traceback, place: Place, command: str
) -> list[Finding]:
    """Notes, for those who read JSON; `command` is the one that would know."""
    frame = told.own_frame
    where = [Fact("in your code", f"{frame}  {frame.source}".strip())] if frame else []
    fix = Fix(f"`{command}` looks at the values, and decides.", proof=Proof("not-tried", NO_VALUES))
    return [
        suspect.rule.finding(
            place,
            headline(suspect.rule),
            facts=(*where, Fact("to be known", suspect.decides)),
            fixes=(fix,),
            python_said=told.said,
            severity=Severity.NOTE,
        )
        for suspect in found
    ]


def headline(rule: Rule) -> str:
    if rule.general:
        return "No rule fits what Python said."
    return f"`{rule.name}` fits what Python said; the text alone does not decide it."
