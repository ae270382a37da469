"""The general autopsy on hand-made recordings: what was seen, and never a guess."""

from dataclasses import replace
from textwrap import dedent

import pytest

from lineages import lineage_answer
from surefit.doctor.diagnose import diagnose
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import (
    Crash,
    Ended,
    Frame,
    Layer,
    Link,
    Memory,
    Observation,
    Process,
    Script,
    Value,
)
from surefit.doctor.recording import Recording
from surefit.lineage.producers import LINEAGE
from surefit.rules.run.unrecognised_crash import RULE
from surefit.source.reading import Source

TEXT = dedent(
    """\
    class Scorer(nn.Module):
        def forward(self, left, right):
            first = self.left(left)
            return first * self.scale
    """
)
FRAME = Frame(
    Place("train.py", 4),
    "Scorer.forward",
    own=True,
    line="return first * self.scale",
    expression="first * self.scale",
    values=(
        Value("self", "Scorer", 1, layer=Layer("Scorer")),
        Value("self.scale", "Parameter", 2, shape=(6,), dtype="float32", made_at=Place("m.py", 9)),
        Value("first", "Tensor", 3, shape=(5, 12), dtype="float32", device="cuda:0"),
        Value("left", "Tensor", 4, shape=(5, 7), dtype="int64"),
    ),
    layer=Layer("Scorer", "", "Scorer", own=True),
)
CRASH = Crash(
    "1-1",
    1.0,
    Process(1),
    "RuntimeError",
    "RuntimeError: sizes",
    (FRAME,),
    layer=FRAME.layer,
)


def found(one: Crash, *more: Observation) -> list[Finding]:
    return list(RULE.look(Recording([Script("train.py", TEXT, main=True), one, *more])))


def test_the_expression_and_the_values_of_its_parts() -> None:
    (finding,) = found(CRASH)
    assert finding.place == Place("train.py", 4)
    assert finding.headline == "`first * self.scale` raised RuntimeError in `Scorer`."
    assert [(fact.name, fact.value) for fact in finding.facts] == [
        ("`first`", "float32 (5, 12) on cuda:0"),
        ("`self.scale`", "float32 (6,), created at m.py:9"),
    ]
    assert finding.fixes == ()
    assert finding.python_said == "RuntimeError: sizes"


def test_each_value_has_the_expression_that_it_was_born_in() -> None:
    value = FRAME.values[2]
    told = lineage_answer(
        CRASH,
        Source("train.py", TEXT),
        {(0, "first"): [("first", value), ("self.left(left)", value)]},
    )
    (finding,) = found(CRASH, told)
    assert finding.facts[0].value == "float32 (5, 12) on cuda:0, from train.py:3  self.left(left)"
    assert finding.facts[1].value == "float32 (6,), created at m.py:9"


def test_a_second_run_is_asked_for_only_where_no_other_rule_explains_it() -> None:
    recording = Recording([Script("train.py", TEXT, main=True), CRASH])
    assert [one.rule for one in diagnose(recording).findings] == ["unrecognised-crash"]
    assert LINEAGE in [question.kind for question in recording.open_questions]
    memory = replace(CRASH, memory=Memory("cpu", 1 << 30, None, None, None))
    explained = Recording([Script("train.py", TEXT, main=True), memory])
    assert [one.rule for one in diagnose(explained).findings] == ["out-of-memory"]
    assert LINEAGE not in [question.kind for question in explained.open_questions]


def test_a_library_that_fails_is_named_beside_the_own_line() -> None:
    layer = Layer("Linear", "encoder.layer.1.proj", "Bert", Place("train.py", 2))
    inner = Frame(
        Place("torch/nn/functional.py", 99),
        "linear",
        own=False,
        expression="op(input, size)",
        values=(
            Value("input", "Tensor", 8, shape=(2, 3), dtype="float16"),
            Value("size", "int", 9, scalar=4),
        ),
        layer=layer,
    )
    (finding,) = found(replace(CRASH, frames=(FRAME, inner), layer=layer))
    assert finding.headline == (
        "`first * self.scale` raised RuntimeError in `encoder.layer.1.proj`, inside `linear`."
    )
    facts = {fact.name: fact.value for fact in finding.facts}
    assert facts["failed at"] == "torch/nn/functional.py:99  op(input, size)"
    assert facts["`input` there"] == "float16 (2, 3)"
    assert "`size` there" not in facts
    assert facts["`encoder.layer.1.proj`"] == "Linear, created at train.py:2"


def test_an_own_raise_is_called_one() -> None:
    frame = Frame(
        Place("train.py", 2),
        "check",
        own=True,
        line='raise ValueError(f"rate is {rate}")',
        values=(Value("rate", "float", 1, scalar=3.5),),
    )
    (finding,) = found(replace(CRASH, kind="ValueError", frames=(frame,), layer=None))
    assert finding.headline == "Your own `raise` in `check` ended the run with ValueError."
    assert [(fact.name, fact.value) for fact in finding.facts] == [("`rate`", "3.5")]


def test_the_first_exception_of_a_chain_is_told() -> None:
    (finding,) = found(replace(CRASH, chain=(Link("KeyError: 'text'"),)))
    assert ("first raised", "KeyError: 'text'") in [(f.name, f.value) for f in finding.facts]


def test_ranks_that_failed_afterwards_are_counted_and_yield_nothing() -> None:
    first = replace(CRASH, process=Process(5, "rank", 1, 3))
    then = replace(CRASH, id="2-1", at=2.0, process=Process(4, "rank", 0, 3))
    last = replace(CRASH, id="3-1", at=2.5, process=Process(6, "rank", 2, 3))
    (finding,) = found(then, first, last)
    facts = {fact.name: fact.value for fact in finding.facts}
    assert finding.about == "1-1"
    assert facts["ranks that failed after it"] == "0, 2"


def test_a_worker_is_named() -> None:
    (finding,) = found(replace(CRASH, process=Process(5, "worker", worker=1)))
    assert ("in", "worker 1 of a loader") in [(f.name, f.value) for f in finding.facts]


def test_without_a_line_of_the_users_the_script_is_the_place() -> None:
    (finding,) = found(replace(CRASH, frames=()))
    assert finding.place == Place("train.py")
    assert "none of the lines on the way to it are yours" in finding.headline


@pytest.mark.parametrize("kind", ["KeyboardInterrupt", "SystemExit"])
def test_a_deliberate_end_is_no_finding(kind: str) -> None:
    assert found(replace(CRASH, kind=kind)) == []


def test_silence_on_what_the_script_has_handled() -> None:
    good = Ended(("python", "train.py"), "train.py", 0, 1.0)
    child = replace(CRASH, process=Process(2, "child"))
    assert found(child, good) == []
    assert len(found(child, replace(good, code=1))) == 1
    assert found(replace(CRASH, swallowed=True)) == []
