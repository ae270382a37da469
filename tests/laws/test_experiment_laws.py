"""Laws of rows, padding, future and alignment, on measures that are written by hand."""

from dataclasses import replace

import pytest

from surefit.doctor.findings import Place
from surefit.doctor.measures.alignment import Aligned
from surefit.doctor.measures.experiments import (
    Experimented,
    GenerateCall,
    Generated,
    OperationSeen,
    TriedChange,
)
from surefit.doctor.observations import Measure, Process
from surefit.doctor.recording import Recording, as_line, read
from surefit.laws.case import Case
from surefit.laws.invariants import alignment, future, independent_rows, padding
from surefit.laws.law import BrokenLaw

PROCESS = Process(7, "child")
LINE = Place("train.py", 12)
SOFTMAX = OperationSeen(
    name="softmax",
    place=LINE,
    module="",
    kind="Model",
    created_at=None,
    inputs=((7, 4),),
    axes=((0,),),
    output=(7, 4),
    numbers=True,
    arguments={"dim": "0"},
)
BROKEN = TriedChange(
    on="7 of 60 rows", size=7, changed=0.5, output=(7, 4), judged=1, operation=SOFTMAX
)
MADE = Experimented(process=PROCESS, model="Model", place=LINE, training=True, step=1)


def violations(measure: Measure) -> list[BrokenLaw]:
    case = Case(Recording([measure]))
    laws = (independent_rows, padding, future, alignment)
    return [broken for law in laws for broken in law.violations_of(case)]


def test_measures_are_read_again_as_they_were_written() -> None:
    made = replace(MADE, rows=BROKEN)
    assert list(read([as_line(made)]).all(Experimented)) == [made]


def test_rows_that_mix_are_told_with_both_numbers_and_the_line() -> None:
    (broken,) = violations(replace(MADE, rows=BROKEN))
    assert isinstance(broken, independent_rows.RowsMix)
    assert (broken.use.place, broken.steps) == (LINE, 3)
    assert "by 50% of its largest value, where 0 is expected" in broken.said


@pytest.mark.parametrize(
    "operation",
    [
        replace(SOFTMAX, pairs=True),
        replace(SOFTMAX, numbers=False),
        replace(SOFTMAX, name="__getitem__"),
        replace(SOFTMAX, name="std"),
        replace(SOFTMAX, name="batch_norm", kind="BatchNorm1d"),
        replace(SOFTMAX, name="max", arguments={}),
        None,
    ],
)
def test_what_mixes_rows_on_purpose_is_not_told(operation: OperationSeen | None) -> None:
    assert violations(replace(MADE, rows=replace(BROKEN, operation=operation))) == []


def test_without_a_loader_only_what_is_never_meant_is_told() -> None:
    mean = replace(BROKEN, operation=replace(SOFTMAX, name="mean"))
    assert violations(replace(MADE, rows=mean))
    assert violations(replace(MADE, rows=mean, assumed=True)) == []
    assert violations(replace(MADE, rows=BROKEN, assumed=True))


def test_one_fault_is_told_once() -> None:
    both = [replace(MADE, rows=BROKEN), replace(MADE, rows=BROKEN, training=False, step=50)]
    assert len(list(independent_rows.violations_of(Case(Recording([*both]))))) == 1


def test_padding_that_recurrent_layers_read_is_not_told() -> None:
    recurrent = replace(BROKEN, operation=replace(SOFTMAX, name="lstm"), argument="mask")
    assert violations(replace(MADE, padding=recurrent)) == []
    (broken,) = violations(replace(MADE, padding=replace(BROKEN, hidden=True)))
    assert isinstance(broken, padding.PaddingIsSeen)
    assert broken.inverted


LAST = replace(
    SOFTMAX, name="__getitem__", inputs=((2, 3, 8),), axes=((1,),), arguments={"1": ":, -1"}
)
STATE = replace(LAST, name="gru", arguments={"7": "False", "8": "True"})


@pytest.mark.parametrize("operation", [LAST, STATE])
def test_a_last_position_that_is_padding(operation: OperationSeen) -> None:
    tried = replace(BROKEN, operation=operation, argument="lengths")
    (broken,) = violations(replace(MADE, padding=tried))
    assert isinstance(broken, padding.ReadAfterPadding)
    assert not broken.forgotten


@pytest.mark.parametrize(
    "operation",
    [
        replace(LAST, arguments={"1": ":, 0"}),
        replace(LAST, arguments={"1": ":, :-1"}),
        replace(STATE, arguments={"7": "True", "8": "True"}),
        replace(STATE, inputs=((9, 8),)),
    ],
)
def test_other_positions_and_both_directions_are_not_told(operation: OperationSeen) -> None:
    tried = replace(BROKEN, operation=operation, argument="lengths", hidden=True)
    assert violations(replace(MADE, padding=tried)) == []


def test_without_lengths_a_last_position_is_told_where_the_row_is_forgotten() -> None:
    made = replace(MADE, padding=replace(BROKEN, operation=LAST), training=False)
    assert violations(made) == []
    made = replace(made, padding=replace(made.padding, hidden=True))
    assert violations(replace(made, training=True)) == []
    (broken,) = violations(made)
    assert isinstance(broken, padding.ReadAfterPadding)
    assert broken.forgotten


def test_a_mean_over_padding_is_told_where_the_model_is_given_a_mask() -> None:
    mean = replace(BROKEN, operation=replace(SOFTMAX, name="mean"))
    assert violations(replace(MADE, padding=mean)) == []
    assert violations(replace(MADE, padding=replace(mean, argument="mask")))


def test_prompts_with_padding_at_their_end() -> None:
    line = GenerateCall(place=LINE, model="GPT2", calls=2, rows=8, padded=0, step=40)
    right = replace(line, padded=5, tokens=3)
    assert violations(Generated(process=PROCESS, lines=(line,))) == []
    (broken,) = violations(Generated(process=PROCESS, lines=(right,)))
    assert "5 prompts of 8" in broken.said
    assert broken.steps == 41


def test_pictures_that_fit_their_targets_when_these_are_turned() -> None:
    likeness = {"as it is": 0.1, "transposed": 0.6}
    seen = Aligned(
        process=PROCESS,
        place=LINE,
        rows=32,
        shape=(8, 3, 16, 16),
        step=3,
        likeness=likeness,
        best={"transposed": 30, "as it is": 2},
    )
    assert len(violations(seen)) == 1
    assert violations(replace(seen, best={"transposed": 16, "as it is": 16})) == []
    assert violations(replace(seen, likeness={"as it is": 0.5, "transposed": 0.6})) == []
    assert violations(replace(seen, rows=4)) == []


@pytest.mark.parametrize("law", [independent_rows, padding, future])
def test_what_was_not_measured_says_why(law: object) -> None:
    watched = law.watched  # type: ignore[attr-defined]
    assert watched(Recording([])).why_not == "no model was trained"
    assert "keeps a state" in watched(Recording([replace(MADE, repeats=False)])).why_not
    hanging = replace(MADE, why_not="a fork did not end within 8 s")
    assert watched(Recording([hanging])).why_not == hanging.why_not


def test_what_was_measured_is_told() -> None:
    held = replace(BROKEN, changed=0.0, operation=None)
    recording = Recording([replace(MADE, rows=held, padding=held, future=held)])
    assert independent_rows.watched(recording).on == "`Model` with 7 of 60 rows replaced"
    assert padding.watched(recording).on
    assert future.watched(recording).on
