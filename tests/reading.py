"""What rules say of a script that is only read."""

from textwrap import dedent

from surefit.doctor.findings import Finding
from surefit.doctor.observations import Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule


def read(rule: Rule, text: str) -> list[Finding]:
    """Findings of one rule, by lines."""
    found = list(rule.look(Recording([Script("train.py", dedent(text), main=True)])))
    return sorted(found, key=lambda one: one.place.line or 0)


def lines(rule: Rule, text: str) -> list[int | None]:
    return [one.place.line for one in read(rule, text)]
