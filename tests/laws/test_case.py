"""What the engine does for a rule: questions, lineage, fixes, and what it fills in."""

import ast
from dataclasses import dataclass
from typing import ClassVar

import pytest

from lineages import lineage_answer
from surefit.doctor.conditions.evaluation import EvaluationRuns
from surefit.doctor.conditions.training import TrainingGoesOn
from surefit.doctor.findings import Finding, Place, Severity
from surefit.doctor.observations import (
    Answer,
    Crash,
    Frame,
    Layer,
    Process,
    Question,
    Script,
    Swallowed,
    Value,
)
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule, Unanswered, findings_of
from surefit.doctor.violations import Expression, Operand
from surefit.laws.along import along
from surefit.laws.case import NOT_FOUND, ONLY_READ, Case
from surefit.lineage.properties import dtype
from surefit.remedies.append import Append
from surefit.source.reading import Source

FILE = "train.py"
TEXT = "net = nn.Linear(3, 4)\nx = load(path)\ny = net(x)\n"
RULE = Rule("SF000", "some-rule", Severity.ERROR, "x")
SOURCE = Source(FILE, TEXT)


def crash(*values: Value, swallowed: bool = False) -> Crash:
    (call,) = [node for node in SOURCE.every(ast.Call) if SOURCE.segment(node) == "net(x)"]
    own = Frame(Place(FILE, 3), "<module>", True, "y = net(x)", "net(x)", SOURCE.span(call), values)
    said = "RuntimeError: no"
    return Crash("1-1", 1.0, Process(1), "RuntimeError", said, (own,), swallowed=swallowed)


def case(*more: Answer | Swallowed, crashed: Crash | None = None) -> Case:
    broken = crashed or crash()
    return Case(Recording([Script(FILE, TEXT), broken, *more]), broken, RULE)


@dataclass(frozen=True, slots=True)
class Counted:
    """What a probe says."""

    probe: ClassVar[str] = "count"
    number: int


def test_a_question_waits_for_its_answer() -> None:
    first = case()
    with pytest.raises(Unanswered):
        first.ask(Counted, frame=0)
    asked = Question("count", "1-1", {"frame": 0})
    assert first.recording.open_questions == [asked]
    assert case(Answer(asked, {"number": 3})).ask(Counted, frame=0) == Counted(3)
    assert case(Answer(asked, None, "the process had ended")).ask(Counted, frame=0) is None


def test_a_check_that_waits_has_no_finding_yet() -> None:
    def check(_violation: object, shown: Case) -> Finding:
        shown.ask(Counted)
        raise AssertionError

    assert findings_of(check, object(), case()) == []


def test_a_lineage_is_asked_for_once() -> None:
    operand = Operand(
        value=Value("x", "Tensor", 5, shape=(2,), dtype="float64"), name="`x`", frame=0
    )
    with pytest.raises(Unanswered):
        case().lineage(operand)
    broken = crash(operand.value)
    steps = (
        ("load(path)", Value("x", "Tensor", 5, shape=(2,), dtype="float64")),
        ("path", Value("path", "str", scalar="a")),
    )
    told = lineage_answer(broken, SOURCE, {(0, "x"): steps})
    lineage = case(told, crashed=broken).lineage(operand)
    birth = lineage.birth(of=dtype("float64"))
    assert birth is not None
    assert birth.text == "load(path)"
    assert [producer.text for producer in along(lineage, of=dtype("float64"))] == ["load(path)"]
    assert along(lineage, of=dtype("int32")) == ()


def test_what_a_finding_is_filled_with() -> None:
    use = Expression(Place(FILE, 3), SOURCE.span(next(SOURCE.every(ast.Name))), "net")
    remedy = Append(at=use, suffix=".eval()", words="Do it.")
    lost = Append(at=None, suffix=".x", words="Not here.")
    finding = case().finding(Place(FILE, 3), "It is so.", remedies=(None, lost, remedy, remedy))
    assert (finding.rule, finding.python_said, finding.about) == (
        "some-rule",
        "RuntimeError: no",
        "1-1",
    )
    (fix,) = finding.fixes  # one that finds no place gives way, the same edit stands once
    assert (fix.must, fix.place) == (TrainingGoesOn(), use.place)
    (alone,) = case().finding(Place(FILE, 3), "It is so.", remedies=(lost,)).fixes
    assert alone.why_not_tried == NOT_FOUND


def test_source_that_was_only_read_is_a_warning_and_nothing_is_tried() -> None:
    use = Expression(Place(FILE, 1), SOURCE.span(next(SOURCE.every(ast.Name))), "net")
    read = Case(Recording([Script(FILE, TEXT)]), None, RULE, read=FILE)
    remedy = Append(at=use, suffix=".eval()", words="Do it.")
    finding = read.finding(Place(FILE, 1), "(1000005, 3) has 1,000,005 rows.", remedies=(remedy,))
    assert finding.severity is Severity.WARNING
    assert finding.headline == "(n, 3) has n rows."
    assert [fix.why_not_tried for fix in finding.fixes] == [ONLY_READ]


def test_where_an_exception_was_caught_its_try_must_be_passed() -> None:
    caught = Swallowed(
        Process(1), Place(FILE, 3), Place(FILE, 2), None, "x", 3, 3, (), None, True, crash="1-1"
    )
    swallowed = case(caught, crashed=crash(swallowed=True))
    assert swallowed.holds(TrainingGoesOn()) == EvaluationRuns(Place(FILE, 3), 3)


def test_constructors() -> None:
    layer = Layer("Linear", "", made_at=Place(FILE, 1))
    broken = crash(Value("net", "Linear", 7, layer=layer))
    own = broken.frames[0]
    found = case(crashed=broken).constructor_of_callee(Expression(own.place, own.span, "net(x)"))
    assert found is not None
    assert found.text == "nn.Linear(3, 4)"
