"""Rules are asked, their questions answered, and one fault becomes one finding."""

from collections.abc import Callable, Iterator, Sequence

import pytest

from surefit.doctor import diagnose as module
from surefit.doctor.conditions.parameters import Moves
from surefit.doctor.diagnose import diagnose
from surefit.doctor.findings import Finding, Fix, Place, Severity
from surefit.doctor.observations import Answer, Crash, Process, Question
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.source.patches import Edit

HERE = Place("a.py", 1)


def crash(name: str, at: float = 1.0, swallowed: bool = False) -> Crash:
    return Crash(name, at, Process(), "E", f"E: {name}", swallowed=swallowed)


def rule(code: str, name: str, **more: object) -> Rule:
    made = Rule(code, name, more.pop("severity", Severity.ERROR), "", **more)  # type: ignore[arg-type]

    @made.on(Crash)
    def every_crash(seen: Crash, _recording: Recording) -> Iterator[Finding]:
        yield made.finding(HERE, seen.said, about=seen.id)

    return made


Use = Callable[..., None]


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Use:
    def these(*rules: Rule) -> None:
        monkeypatch.setattr(module, "rules_on", lambda _kinds: rules)

    return these


def test_a_rule_that_knows_the_fault_beats_the_general_one(use: Use) -> None:
    use(rule("SF899", "general", general=True), rule("SF900", "special"))
    found = diagnose(Recording([crash("a")])).findings
    assert [one.rule for one in found] == ["special"]


def test_what_is_supposed_stands_beside_the_general_one_alone(use: Use) -> None:
    general = rule("SF899", "general", general=True)
    supposes = rule("SF980", "supposes", general=True, supposes=True)
    use(general, supposes)
    (finding,) = diagnose(Recording([crash("a")])).findings
    assert finding.rule == "general"
    assert [supposed.rule for supposed in finding.suppositions] == ["supposes"]
    use(general, supposes, rule("SF900", "special"))
    (finding,) = diagnose(Recording([crash("a")])).findings
    assert (finding.rule, finding.suppositions) == ("special", ())


def test_of_two_that_know_it_the_first_in_the_flow_of_data_is_kept(use: Use) -> None:
    use(rule("SF201", "first"), rule("SF301", "second"))
    assert [one.rule for one in diagnose(Recording([crash("a")])).findings] == ["first"]


def test_what_ended_the_run_comes_first_by_time(use: Use) -> None:
    use(rule("SF201", "one"))
    seen = Recording(
        [crash("caught", 1.0, swallowed=True), crash("late", 3.0), crash("early", 2.0)]
    )
    assert [one.about for one in diagnose(seen).findings] == ["early", "late", "caught"]


def test_questions_are_answered_and_rules_asked_again(use: Use) -> None:
    asks = Rule("SF201", "asks", Severity.ERROR, "")

    @asks.on(Crash)
    def wants_to_know(seen: Crash, recording: Recording) -> Iterator[Finding]:
        first = recording.ask(Question("one", seen.id))
        second = recording.ask(Question("two", seen.id, first)) if first else None
        if second:
            yield asks.finding(HERE, f"{second['n']}", about=seen.id)

    use(asks)
    rounds: list[list[str]] = []

    def answer(questions: Sequence[Question]) -> list[Answer]:
        rounds.append([one.kind for one in questions])
        return [Answer(one, {"n": len(rounds)}) for one in questions]

    seen = Recording([crash("a")])
    assert [one.headline for one in diagnose(seen, answer).findings] == ["2"]
    assert rounds == [["one"], ["two"]]
    assert [one.headline for one in diagnose(seen).findings] == ["2"], "replayed without asking"


def test_a_question_that_nobody_answers_is_asked_once(use: Use) -> None:
    asks = Rule("SF201", "asks", Severity.ERROR, "")

    @asks.on(Crash)
    def wants_to_know(seen: Crash, recording: Recording) -> Iterator[Finding]:
        recording.ask(Question("one", seen.id))
        yield from ()

    use(asks)
    asked: list[Question] = []

    def nobody(questions: Sequence[Question]) -> list[Answer]:
        asked.extend(questions)
        return []

    diagnose(Recording([crash("a")]), nobody)
    assert len(asked) == 1


def test_a_rule_that_fails_is_a_line_and_the_others_speak(use: Use) -> None:
    broken = Rule("SF201", "broken", Severity.ERROR, "")

    @broken.on(Crash)
    def divides(_seen: Crash, _recording: Recording) -> Iterator[Finding]:
        yield broken.finding(HERE, str(1 / 0))

    use(broken, rule("SF301", "sound"))
    diagnosis = diagnose(Recording([crash("a")]))
    assert [one.rule for one in diagnosis.findings] == ["sound"]
    assert diagnosis.broken_rules[0].startswith("the rule broken failed: ZeroDivisionError")


def test_severities_in_order(use: Use) -> None:
    quiet = Recording([crash("a", swallowed=True)])
    other = Rule("SF401", "error", Severity.ERROR, "")

    @other.on(Crash)
    def elsewhere(_seen: Crash, _recording: Recording) -> Iterator[Finding]:
        yield other.finding(Place("b.py", 2), "x")

    use(rule("SF201", "noted", severity=Severity.NOTE), other)
    assert [one.rule for one in diagnose(quiet).findings] == ["error", "noted"]


def test_a_fix_that_could_be_tried_and_should_not_be_is_a_choice(use: Use) -> None:
    width = Rule("SF301", "width", Severity.ERROR, "")
    edit, must = Edit("a.py", ()), Moves(("a",))
    reason = "how wide it is only you can choose"

    @width.on(Crash)
    def every_crash(seen: Crash, _recording: Recording) -> Iterator[Finding]:
        fixes = (
            Fix("Declare 4.", edit, must, reason),
            Fix("Read others.", edit, why_not_tried=reason),
            Fix("Declare 5.", edit, must),
        )
        yield width.finding(HERE, seen.said, about=seen.id, fixes=fixes)

    use(width)
    (finding,) = diagnose(Recording([crash("a")])).findings
    assert [fix.choice for fix in finding.fixes] == [True, False, False]
    assert [fix.why_not_tried for fix in finding.fixes] == ["", reason, ""]
    assert finding.fixes[0].text == "Declare 4. How wide it is only you can choose."


def test_what_no_rule_explains_is_a_note_beside_an_error_that_a_rule_does(use: Use) -> None:
    general = Rule("SF991", "general", Severity.WARNING, "", general=True)

    @general.on(Crash)
    def every_run(_seen: Crash, _recording: Recording) -> Finding:
        return general.finding(HERE, "It is so.", about="the law")

    use(general)
    assert [one.severity for one in diagnose(Recording([crash("a")])).findings] == ["warning"]
    use(general, rule("SF201", "special", severity=Severity.WARNING))
    assert {one.severity for one in diagnose(Recording([crash("a")])).findings} == {"warning"}
    use(general, rule("SF201", "special"))
    severities = {one.rule: one.severity for one in diagnose(Recording([crash("a")])).findings}
    assert severities == {"special": "error", "general": "note"}
