"""Categories that are numbered twice, from hand-made measures."""

from dataclasses import replace

import pytest

from surefit.doctor.findings import Place
from surefit.doctor.measures.category_codes import CategoryCodes, TwoNumberings
from surefit.doctor.observations import Process, Script
from surefit.doctor.recording import Recording
from surefit.laws.case import Case
from surefit.laws.invariants.category_codes import violations_of

TEXT = "train_ids = codes(train)\ntest_ids = codes(test)\nmore_ids = codes(more)\n"
CHANGE = TwoNumberings(
    column="user",
    function="cat.codes",
    stack=(Place("train.py", 1),),
    again=(Place("train.py", 2),),
    first=30,
    second=24,
    shared=24,
    moved=20,
    example="user_29",
    numbers=(29, 23),
)


@pytest.mark.parametrize(
    ("change", "embeds", "broken"),
    [
        (CHANGE, True, True),
        (CHANGE, False, False),
        (replace(CHANGE, shared=5, moved=5), True, False),
        (replace(CHANGE, again=(Place("train.py", 3),)), True, False),
    ],
)
def test_categories_of_splits(change: TwoNumberings, embeds: bool, broken: bool) -> None:
    measure = CategoryCodes(
        process=Process(), steps=9, numbered=2, embeds=embeds, changes=(change,)
    )
    recording = Recording([Script("train.py", TEXT, main=True), measure])
    assert bool(list(violations_of(Case(recording)))) is broken
