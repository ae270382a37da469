"""When a model that gives every row the same output breaks the law."""

from dataclasses import replace

import pytest

from surefit.doctor.findings import Place
from surefit.doctor.measures.experiments import Experimented, RowOutputs
from surefit.doctor.observations import Process
from surefit.doctor.recording import Recording
from surefit.laws.case import Case
from surefit.laws.invariants import inputs_count

CONSTANT = Experimented(
    process=Process(),
    model="Net",
    place=Place("train.py", 9),
    training=False,
    step=50,
    outputs=RowOutputs(rows=7, equal=True, output=(7, 3)),
)


@pytest.mark.parametrize(
    ("tried", "breaks"),
    [
        (CONSTANT, True),
        (replace(CONSTANT, outputs=RowOutputs(rows=7)), False),
        (replace(CONSTANT, outputs=RowOutputs()), False),
        (replace(CONSTANT, step=3), False),
        (replace(CONSTANT, training=True), False),
    ],
)
def test_equal_outputs_of_a_model_that_has_learned_for_a_while(
    tried: Experimented, breaks: bool
) -> None:
    found = list(inputs_count.violations_of(Case(Recording([tried]))))
    assert bool(found) is breaks
    if breaks:
        assert found[0].said.startswith("`Net` gives the same output for every row")


def test_what_it_was_measured_on() -> None:
    assert inputs_count.watched(Recording([CONSTANT])).on == "`Net` with 7 different rows"
    assert "no evaluation" in inputs_count.watched(Recording([])).why_not
    unlike = replace(CONSTANT, outputs=RowOutputs())
    assert "could not be compared" in inputs_count.watched(Recording([unlike])).why_not
