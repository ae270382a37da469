"""Shows a recording to every rule; one fault becomes one finding, the root cause first."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from surefit.doctor import catalogue
from surefit.doctor.allowed import UNKNOWN_ALLOWANCE, allowed, unknown_allowances
from surefit.doctor.catalogue import rule_files, rules_on, sources_of_violations
from surefit.doctor.causes import caught_by
from surefit.doctor.findings import Fact, Finding, Severity
from surefit.doctor.observations import Answer, Crash, Question
from surefit.doctor.ranks import by_rank, with_ranks
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Cases, Rule, Shown, failed
from surefit.doctor.violations import Violation

MOST_ROUNDS = 8
"""A question may lead to another; no rule needs more than this."""

Look = tuple[Rule, Callable[[], Iterable[Finding]]]
AnswerQuestions = Callable[[Sequence[Question]], Iterable[Answer]]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Findings, the root cause first, and rules that failed themselves, a line each."""

    findings: tuple[Finding, ...]
    broken_rules: tuple[str, ...] = ()


def diagnose(seen: Recording, answer: AnswerQuestions | None = None) -> Diagnosis:
    """Asks every rule, has their questions answered, and asks again until nothing is open."""
    for _ in range(MOST_ROUNDS):
        seen.open_questions.clear()
        diagnosis = look(seen)
        if answer is None or not seen.open_questions:
            break
        came = list(answer(tuple(seen.open_questions)))
        if not came:
            break
        seen.observations.extend(came)
    return diagnosis


def look(seen: Recording) -> Diagnosis:
    """Every rule that is about what was seen; what a comment in the user's source allows is left
    out."""
    broken = list(catalogue.broken())
    cases = violations_in(seen, broken)
    kinds = kinds_of((*seen.observations, *(violation for violation, _ in cases)))
    looks: list[Look] = [
        *((rule, partial(rule.look, seen, cases)) for rule in rules_on(kinds)),
        (UNKNOWN_ALLOWANCE, partial(unknown_allowances, seen, rule_files())),
    ]
    return said_by(looks, seen, broken)


def look_at(cases: Cases, seen: Recording) -> Diagnosis:
    """What rules say of these violations alone, with no question answered."""
    nothing = Recording([])
    rules = rules_on(kinds_of(violation for violation, _ in cases))
    return said_by([(rule, partial(rule.look, nothing, cases)) for rule in rules], seen, [])


def said_by(looks: Sequence[Look], seen: Recording, broken: list[str]) -> Diagnosis:
    found: list[tuple[Rule, Finding]] = []
    crashes = {crash.id for crash in seen.all(Crash)}
    for rule, find in sorted(looks, key=lambda pair: (pair[0].general, not pair[0].supposes)):
        asked = list(seen.open_questions)
        try:
            meant = [with_choices(one) for one in find() if not allowed(one, seen)]
        except Exception as error:  # noqa: BLE001 - one rule that fails must not silence the others
            broken.append(failed(f"the rule {rule.name}", error))
            continue
        about = {finding.about for finding in meant} or crashes
        if rule.general and about <= {finding.about for _, finding in found}:
            seen.open_questions[:] = asked  # nothing is asked about what another rule explains
        found += [(rule, with_handler(one, seen)) for one in meant]
    findings = one_each(as_consequences(found))
    return Diagnosis(tuple(by_rank(in_order(findings, seen), seen)), tuple(broken))


def violations_in(seen: Recording, broken: list[str]) -> list[tuple[Violation, Shown]]:
    """Laws that do not hold in this recording, each with its case."""
    found: list[tuple[Violation, Shown]] = []
    for violations in sources_of_violations(kinds_of(seen.observations)):
        found += violations(seen, broken)
    return found


def kinds_of(things: Iterable[object]) -> set[str]:
    """Names of their classes, and of those that these are derived from."""
    return {kind.__name__ for thing in things for kind in type(thing).__mro__}


def with_choices(finding: Finding) -> Finding:
    return replace(finding, fixes=tuple(fix.as_choice for fix in finding.fixes))


def with_handler(finding: Finding, seen: Recording) -> Finding:
    """Of an exception that the user's own code caught: where, and how often nobody heard of it."""
    crash = seen.crash(finding.about)
    caught = caught_by(crash, seen) if crash is not None and crash.swallowed else None
    if caught is None:
        return finding
    often = f"{caught.times:,} of {caught.entries:,} times"
    fact = Fact("caught at", f"{caught.handler}, {often}: the error is swallowed there")
    return replace(finding, facts=(*finding.facts, fact))


def as_consequences(found: Sequence[tuple[Rule, Finding]]) -> list[tuple[Rule, Finding]]:
    """Where a rule knows the cause of an error, what no rule explains can follow from it: a note of
    it."""
    explained = any(
        finding.severity is Severity.ERROR and not rule.general for rule, finding in found
    )
    return [
        (rule, replace(finding, severity=Severity.NOTE))
        if explained and rule.general and finding.severity is Severity.WARNING
        else (rule, finding)
        for rule, finding in found
    ]


def one_each(found: Sequence[tuple[Rule, Finding]]) -> list[Finding]:
    """Of the findings about one fault the first that is not general, in the order of the rules; a
    general one has what is supposed beside it."""
    kept: dict[object, tuple[Rule, Finding]] = {}
    supposed: dict[object, list[Finding]] = {}
    for rule, finding in found:
        fault = finding.about or (finding.rule, finding.place)
        if rule.supposes:
            supposed.setdefault(fault, []).append(finding)
            continue
        if fault not in kept:
            kept[fault] = rule, finding
            continue
        first, known = kept[fault]
        if first.general and not rule.general:
            first, known, finding = rule, finding, known
        kept[fault] = first, with_ranks(known, finding.ranks)
    return [
        replace(finding, suppositions=tuple(supposed.get(fault, ()))) if rule.general else finding
        for fault, (rule, finding) in kept.items()
    ]


def in_order(findings: Iterable[Finding], seen: Recording) -> list[Finding]:
    """What ended the run first, by time; then errors, warnings, notes, in the order of rules."""
    at = {crash.id: crash.at for crash in seen.all(Crash) if not crash.swallowed}
    severities = list(Severity)
    never = float("inf")

    def key(finding: Finding) -> tuple[float, int, str]:
        return at.get(finding.about, never), severities.index(finding.severity), finding.code

    return sorted(findings, key=key)
