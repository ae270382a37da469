"""What is said of laws at the end of a run."""

from surefit.cli.watched_laws import NO_STEP, detail, lines, part
from surefit.laws.law import Law, MeasuredOn
from surefit.laws.runs import LawState

LEARNS = Law("learning", "every weight that should learn, learns")
HOLDS = LawState(LEARNS, MeasuredOn(on="64 parameters at 120 steps"))
UNMEASURED = LawState(
    Law("evaluation", "evaluation is evaluation"), MeasuredOn(why_not="no evaluation was seen")
)
ALSO = LawState(Law("rows", "rows are disjoint"), MeasuredOn(why_not="no evaluation was seen"))
BROKEN = LawState(Law("rates", "the rate fits the run"), MeasuredOn(on="120 steps"), broken=True)


def test_laws_are_counted_and_reasons_are_said_once() -> None:
    assert list(lines([HOLDS, UNMEASURED, ALSO], 120)) == [
        "laws: 1 holds, 2 not measured (no evaluation was seen); 120 steps"
    ]
    assert list(lines([HOLDS, HOLDS, BROKEN], 1)) == [
        "laws: 2 hold, 1 broken (the rate fits the run); 1 step"
    ]


def test_many_reasons_are_counted_and_the_most_common_are_said() -> None:
    others = [
        LawState(Law(name, name), MeasuredOn(why_not=f"no {name} was seen")) for name in "abcdef"
    ]
    assert list(lines([HOLDS, *others, UNMEASURED, ALSO], 5)) == [
        "laws: 1 holds, 8 not measured (no evaluation was seen; no a was seen; no b was seen;"
        " 4 more reasons: `--laws`); 5 steps"
    ]


def test_a_run_without_a_step_says_so_and_counts_nothing_as_held() -> None:
    assert list(lines([HOLDS, UNMEASURED], 0)) == [NO_STEP]


def test_each_law_in_a_line() -> None:
    assert list(detail([HOLDS, UNMEASURED])) == [
        "holds: every weight that should learn, learns: 64 parameters at 120 steps",
        "not measured: evaluation is evaluation: no evaluation was seen",
    ]


def test_the_document_has_every_law() -> None:
    assert part([BROKEN, UNMEASURED]) == [
        {
            "law": "rates",
            "words": "the rate fits the run",
            "state": "broken",
            "on": "120 steps",
            "why_not": "",
        },
        {
            "law": "evaluation",
            "words": "evaluation is evaluation",
            "state": "not measured",
            "on": "",
            "why_not": "no evaluation was seen",
        },
    ]
