"""What rules say of a script that is only read."""

from textwrap import dedent

from surefit.doctor.findings import Finding
from surefit.doctor.observations import Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.interpreter.scripts import violations_in


def read(rule: Rule, text: str) -> list[Finding]:
    """Findings of one rule, by lines."""
    recording = Recording([Script("train.py", dedent(text), main=True)])
    broken: list[str] = []
    found = list(rule.look(recording, violations_in(recording, broken)))
    assert broken == []
    return sorted(found, key=lambda one: one.place.line or 0)


def lines(rule: Rule, text: str) -> list[int | None]:
    return [one.place.line for one in read(rule, text)]
