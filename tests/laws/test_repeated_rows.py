"""Which loaders of evaluation rows break the law."""

from dataclasses import replace

import pytest

from surefit.doctor.findings import Place
from surefit.doctor.measures.repeated_rows import LoaderPasses, RepeatedRows
from surefit.doctor.observations import Process
from surefit.doctor.recording import Recording
from surefit.laws.case import Case
from surefit.laws.invariants import repeated_rows

AUGMENTED = LoaderPasses(
    place=Place("train.py", 9), passes=4, changed=4, rows=32, dataset="Images", shared="dataset"
)


@pytest.mark.parametrize(
    ("loader", "breaks"),
    [
        (AUGMENTED, True),
        (replace(AUGMENTED, shared="transform"), True),
        (replace(AUGMENTED, shared=""), False),
        (replace(AUGMENTED, changed=3), False),
        (replace(AUGMENTED, passes=1, changed=1), False),
        (replace(AUGMENTED, changed=0), False),
    ],
)
def test_other_inputs_each_time_through_the_training_transform(
    loader: LoaderPasses, breaks: bool
) -> None:
    seen = Recording([RepeatedRows(process=Process(), loaders=(loader,))])
    assert [type(broken).__name__ for broken in repeated_rows.violations_of(Case(seen))] == (
        ["EvaluationRowsChange"] if breaks else []
    )
    assert repeated_rows.watched(seen).on
