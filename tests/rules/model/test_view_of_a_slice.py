"""Views that need a copy, on hand-made recordings: what made the tensor so, and what mends it."""

from dataclasses import replace
from textwrap import dedent

import pytest

from lineages import lineage_answer
from looking import look
from surefit.doctor.conditions.evaluation import EvaluationRuns
from surefit.doctor.conditions.re_executed import ReExecuted
from surefit.doctor.findings import Finding, Place, Severity
from surefit.doctor.observations import (
    Answer,
    Crash,
    Frame,
    Layer,
    Observation,
    Process,
    Question,
    Script,
    Swallowed,
    Value,
)
from surefit.rules.model.view_of_a_slice import RULE
from surefit.source.edits import patched
from surefit.source.reading import Source
from surefit.source.spans import Span

SAID = "RuntimeError: view size is not compatible with input tensor's size and stride"
TEXT = dedent(
    """\
    def loss_of(logits, labels):
        targets = labels[:, 1:]
        return entropy(logits, targets.view(-1))
    loss_of(logits, labels)
    """
)
TARGETS = Value(
    "targets",
    "Tensor",
    3,
    shape=(2, 23),
    stride=(24, 1),
    dtype="int64",
    contiguous=False,
    base_shape=(2, 24),
)
LABELS = Value("labels", "Tensor", 2, shape=(2, 24), stride=(24, 1), contiguous=True)
OWN = Frame(
    Place("train.py", 3),
    "loss_of",
    own=True,
    line="return entropy(logits, targets.view(-1))",
    expression="targets.view(-1)",
    span=Span(3, 27, 3, 43),
    values=(TARGETS, LABELS),
    arguments=("logits", "labels"),
)
CRASH = Crash("1-1", 1.0, Process(1), "RuntimeError", SAID, (OWN,))


def found(one: Crash, *more: Observation, text: str = TEXT) -> list[Finding]:
    return look(RULE, [Script("train.py", text), one, *more])


def with_value(value: Value) -> Crash:
    return replace(CRASH, frames=(replace(OWN, values=(value, LABELS)),))


LIBRARY = Frame(
    Place("transformers/t5.py", 1054),
    "T5.forward",
    own=False,
    expression="labels.view(-1)",
    values=(replace(TARGETS, text="labels"),),
    layer=Layer("T5", "", "T5"),
)
LOOP = dedent(
    """\
    def collate(rows):
        ids = stack(rows)
        return {"labels": ids[:, 1:]}
    for batch in loader:
        model(**batch)
    """
)
BATCH = Value("batch", "dict", 9, members={"labels": replace(TARGETS, text="labels")})
MAIN = Frame(
    Place("train.py", 5),
    "<module>",
    own=True,
    line="model(**batch)",
    expression="model(**batch)",
    values=(BATCH,),
)
INSIDE = replace(CRASH, frames=(MAIN, LIBRARY))


def test_a_swallowed_one_is_judged_by_its_handler() -> None:
    handler, tried = Place("train.py", 6, 7), Place("train.py", 4, 5)
    caught = Swallowed(
        Process(1), handler, tried, OWN.place, SAID, 4, 4, ("module",), False, False, crash="1-1"
    )
    (finding,) = found(replace(CRASH, swallowed=True), caught)
    assert finding.about == "1-1"
    assert finding.fixes[0].must == EvaluationRuns(handler, 4)


@pytest.mark.parametrize(
    "one",
    [
        with_value(replace(TARGETS, shape=(1, 23))),
        with_value(replace(TARGETS, stride=(23, 1), contiguous=True)),
        replace(CRASH, frames=(replace(OWN, expression="targets.reshape(-1)"),)),
        replace(CRASH, frames=(replace(OWN, expression="targets.view(-1, 7)"),)),
        replace(CRASH, swallowed=True),
        replace(CRASH, frames=()),
    ],
    ids=["one row", "contiguous", "no view", "wrong number", "handled", "no frames"],
)
def test_silence(one: Crash) -> None:
    assert found(one) == []


CHAINS = {(0, "targets"): [("labels[:, 1:]", TARGETS)]}
EQUAL = Answer(
    Question("reshape", "1-1", {"frame": 0, "text": "targets", "shape": [-1]}),
    {"equal": True, "elements": 46},
)


def test_the_slice_is_named_and_the_own_call_becomes_reshape() -> None:
    (finding,) = found(CRASH, EQUAL, lineage_answer(CRASH, Source("train.py", TEXT), CHAINS))
    assert finding.place.line == 3
    assert finding.headline == (
        "`targets.view(-1)` takes a contiguous tensor, and `targets` is not contiguous, because of"
        " `labels[:, 1:]`."
    )
    assert [fact.name for fact in finding.facts] == [
        "`targets`",
        "not contiguous since",
        "with a batch of one row",
    ]
    (fix,) = finding.fixes
    assert fix.edit is not None
    assert patched(fix.edit, TEXT) == TEXT.replace("targets.view(-1)", "targets.reshape(-1)")
    assert isinstance(fix.must, ReExecuted)
    assert fix.must.question == EQUAL.question


def test_a_view_inside_a_library_is_mended_where_the_slice_is() -> None:
    gone = Answer(Question("reshape", "1-1", {"frame": 1, "text": "labels", "shape": [-1]}), None)
    chains = {(1, "labels"): [("ids[:, 1:]", TARGETS)]}
    told = lineage_answer(INSIDE, Source("train.py", LOOP), chains)
    (finding,) = found(INSIDE, gone, told, text=LOOP)
    assert finding.place.line == 3
    assert finding.headline.startswith("`T5` calls `labels.view(-1)`, which takes a contiguous")
    edit = finding.fixes[0].edit
    assert edit is not None
    assert '{"labels": ids[:, 1:].contiguous()}' in patched(edit, LOOP)


def test_a_script_that_is_only_read() -> None:
    (finding,) = look(RULE, [Script("train.py", TEXT)])
    assert finding.severity is Severity.WARNING
    assert finding.place.line == 3
    assert "because of `labels[:, 1:]`" in finding.headline
