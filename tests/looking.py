"""Findings of one rule on a hand-made recording, with the violations that its laws yield."""

from collections.abc import Sequence

from surefit.doctor.findings import Finding
from surefit.doctor.observations import Answer, Crash, Observation, Question
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.interpreter import scripts
from surefit.laws import crashes
from surefit.lineage.producers import LINEAGE


def look(rule: Rule, observations: Sequence[Observation]) -> list[Finding]:
    """Where no lineage is among the observations, a second run found nothing out."""
    recording = Recording([*observations, *unknown_lineages(observations)])
    broken: list[str] = []
    cases = [
        *crashes.violations_in(recording, broken),
        *scripts.violations_in(recording, broken),
    ]
    findings = list(rule.look(recording, cases))
    assert broken == []
    return findings


def unknown_lineages(observations: Sequence[Observation]) -> list[Answer]:
    answers = [known for known in observations if isinstance(known, Answer)]
    told = {known.question.crash for known in answers if known.question.kind == LINEAGE}
    crashed = [known.id for known in observations if isinstance(known, Crash)]
    return [
        Answer(Question(LINEAGE, crash, {}), {"producers": [], "roots": []})
        for crash in crashed
        if crash not in told
    ]
