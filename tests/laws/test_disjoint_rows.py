"""Training and evaluation rows, from hand-made measures."""

from dataclasses import replace

import pytest

from surefit.doctor.findings import Place
from surefit.doctor.measures.row_sets import (
    EvaluatedRows,
    FreshRows,
    LoaderSeen,
    RowSets,
    TrainedRows,
)
from surefit.doctor.observations import Process, Script
from surefit.doctor.recording import Recording
from surefit.laws.case import Case
from surefit.laws.evaluation.evaluation_names import is_held_out
from surefit.laws.invariants.disjoint_rows import (
    CopiesInBothSets,
    EvaluatedOnTrainingRows,
    RowsInBothSets,
    SharedRows,
    earlier_fold,
    violations_of,
    watched,
)
from surefit.laws.rows.copied_rows import copied_before_split
from surefit.source.reading import Source

FILE = "train.py"
TEXT = """\
train_set, val_set = split(rows)
loader = DataLoader(train_set)
val_loader = DataLoader(train_set)
for batch in val_loader:
    model(batch)
"""
COPIED = """\
x, y = torch.cat([x, x]), torch.cat([y, y])
order = torch.randperm(len(x))
x_train, x_test = x[order[:80]], x[order[80:]]
y_train, y_test = y[order[:80]], y[order[80:]]
model(x_test)
"""

TRAINED = TrainedRows(
    model=1,
    rows=800,
    distinct=200,
    width=12,
    continuous=True,
    pairs=6000,
    equal_pairs=0,
    loaders=(LoaderSeen(place=Place(FILE, 2), dataset=7),),
    batches=40,
    different_batches=40,
)
EVALUATED = EvaluatedRows(
    model=1,
    stack=(Place(FILE, 5),),
    library="",
    calls=4,
    evaluating=4,
    cycles=4,
    rows=100,
    equal=0,
    rearranged=0,
    loader=LoaderSeen(place=Place(FILE, 3), dataset=7),
    step=10,
)


def case_of(*evaluated: EvaluatedRows, trained: TrainedRows = TRAINED, text: str = TEXT) -> Case:
    measure = RowSets(process=Process(), steps=40, trained=(trained,), evaluated=evaluated)
    return Case(Recording([Script(FILE, text, main=True), measure]))


def broken_in(case: Case) -> list[SharedRows]:
    return [broken for broken in violations_of(case) if isinstance(broken, SharedRows)]


def test_other_rows_are_fine() -> None:
    case = case_of(EVALUATED)
    assert broken_in(case) == []
    assert watched(case.recording).on == "100 evaluated rows, 200 training rows"


def test_validation_on_the_training_set_names_what_is_not_used() -> None:
    (broken,) = broken_in(case_of(replace(EVALUATED, equal=100)))
    assert isinstance(broken, EvaluatedOnTrainingRows)
    assert broken.unused is not None
    assert (broken.unused.name, broken.use.place.line) == ("val_set", 3)
    assert broken.steps == 11


def test_one_dataset_for_both_is_a_decision() -> None:
    text = TEXT.replace("train_set, val_set = split(rows)", "train_set = rows")
    assert broken_in(case_of(replace(EVALUATED, equal=100), text=text)) == []


def test_a_training_subset_beside_a_real_validation_is_fine() -> None:
    other = replace(EVALUATED, stack=(Place(FILE, 4),))
    assert broken_in(case_of(replace(EVALUATED, equal=100), other)) == []


@pytest.mark.parametrize("name", ["fold", "kfold", "val_folds"])
def test_cross_validation_is_fine(name: str) -> None:
    text = f"{TEXT}\n{name} = 1\n"
    assert broken_in(case_of(replace(EVALUATED, equal=100), text=text)) == []


def test_part_of_the_rows() -> None:
    (broken,) = broken_in(case_of(replace(EVALUATED, equal=40)))
    assert isinstance(broken, RowsInBothSets)
    assert "40 of 100 evaluated rows" in broken.said


def test_rows_that_are_equal_by_chance_are_fine() -> None:
    few = replace(TRAINED, continuous=False, equal_pairs=60, distinct=150)
    assert broken_in(case_of(replace(EVALUATED, equal=90), trained=few)) == []


def test_copies_that_the_source_makes_before_the_split() -> None:
    few = replace(TRAINED, equal_pairs=60, distinct=150, loaders=())
    row = replace(EVALUATED, equal=100, loader=None)
    (broken,) = broken_in(case_of(row, trained=few, text=COPIED))
    assert isinstance(broken, RowsInBothSets)
    assert broken.use.place.line == 1
    assert broken.copied is not None
    assert broken.copied.moved() == (
        "x_train, y_train = torch.cat([x_train, x_train]), torch.cat([y_train, y_train])"
    )


def test_altered_copies() -> None:
    near = replace(EVALUATED, near_looked=100, near=95, copies=1, near_distance=1, next_distance=9)
    (broken,) = broken_in(case_of(near))
    assert isinstance(broken, CopiesInBothSets)
    tight = replace(near, copies=12)
    assert broken_in(case_of(tight)) == []


def test_a_call_in_every_step_is_no_evaluation() -> None:
    row = replace(EVALUATED, equal=60, evaluating=0, cycles=38)
    assert broken_in(case_of(row)) == []
    assert watched(case_of(row).recording).why_not


@pytest.mark.parametrize(
    ("line", "held_out"),
    [
        ("evaluate(model, val_loader)", True),
        ("evaluate(model, train_loader)", False),
        ("print(test(model, x_train))", False),
        ("accuracy = score(testX, train_losses)", True),
        ("predict(model, rows)", False),
    ],
)
def test_names_say_what_rows_are_for(line: str, held_out: bool) -> None:
    recording = Recording([Script(FILE, f"{line}\n", main=True)])
    assert is_held_out(recording, (Place(FILE, 1),)) is held_out


def test_what_helps_to_copy_moves_along() -> None:
    text = (
        "rare = rows[labels == 1]\nrows = rows + rare * 3\n"
        "train_rows, test_rows = random_split(rows, [8, 2])\n"
    )
    (found,) = copied_before_split(Source(FILE, text))
    assert found.moved() == ("rare = train_rows[labels == 1]\ntrain_rows = train_rows + rare * 3")


@pytest.mark.parametrize(
    ("trained", "renewed", "broken"),
    [
        ((0, 50, 50), (0, 0, 0), True),
        ((0, 50, 50), (0, 1, 2), False),
        ((50, 50, 50), (0, 0, 0), False),
        ((0, 0, 0), (0, 0, 0), False),
        ((0, 50, 4), (0, 0, 0), False),
        ((0,), (0,), False),
    ],
)
def test_a_model_that_goes_on_to_the_next_fold(
    trained: tuple[int, ...], renewed: tuple[int, ...], broken: bool
) -> None:
    rounds = tuple(
        FreshRows(step=80 * at, rows=50, trained=count, renewed=times)
        for at, (count, times) in enumerate(zip(trained, renewed, strict=True), 1)
    )
    row = replace(EVALUATED, rounds=rounds)
    assert (earlier_fold(row, TRAINED) is not None) is broken
