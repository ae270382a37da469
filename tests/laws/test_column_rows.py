"""Columns that are put beside other rows: by their indices, and from hand-made measures."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from surefit.doctor.findings import Place
from surefit.doctor.measures.column_rows import AlignedColumn, ColumnRows
from surefit.doctor.observations import Process
from surefit.doctor.recording import Recording
from surefit.laws.case import Case
from surefit.laws.invariants.column_rows import of_other_rows, violations_of
from surefit.observe.inside.measuring import column_rows
from surefit.rules.data.rows_and_labels_not_paired import column_at
from surefit.source.reading import Source

COLUMN = AlignedColumn(
    stack=(Place("train.py", 1),), rows=200, moved=150, lost=20, frame_has_gaps=True
)


@pytest.mark.parametrize(
    ("column", "broken"),
    [
        (COLUMN, True),
        (replace(COLUMN, lost=0), False),
        (replace(COLUMN, moved=10), False),
    ],
)
def test_measures(column: AlignedColumn, broken: bool) -> None:
    measure = ColumnRows(process=Process(), columns=3, aligned=(column,))
    assert bool(list(violations_of(Case(Recording([measure]))))) is broken


@pytest.fixture
def state() -> Iterator[column_rows.ColumnState]:
    column_rows.forget_parent()
    yield column_rows.state
    column_rows.forget_parent()


EVERY_SECOND = list(range(0, 80, 2))
AS_MANY = list(range(40))


@pytest.mark.parametrize(
    ("rows", "values", "moved"),
    [
        (EVERY_SECOND, None, 19),
        (None, EVERY_SECOND, 19),
        (EVERY_SECOND[::-1], None, 19),
        (EVERY_SECOND, EVERY_SECOND, None),
        (None, None, None),
        (AS_MANY[::-1], None, None),
        (None, list(range(1, 41)), None),
        (EVERY_SECOND, list(range(20)), None),
        ([f"row {at}" for at in AS_MANY], None, None),
        ([float(at) for at in EVERY_SECOND], None, None),
    ],
)
def test_indices(
    state: column_rows.ColumnState,
    rows: list[object] | None,
    values: list[object] | None,
    moved: int | None,
) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": range(40)}, index=rows)
    column = pandas.Series(range(len(values or AS_MANY)), index=values)
    column_rows._column((frame, column), {})
    assert state.columns == 1
    assert [aligned.moved for aligned in state.aligned] == ([] if moved is None else [moved])
    if moved is not None:
        frame["b"] = column
        assert int(frame["b"].isna().sum()) == state.aligned[0].lost


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('table["y"] = other["y"]\n', 'other["y"]'),
        ("table = table.assign(y=other.y)\n", "other.y"),
        ("table.insert(0, 'y', other.y)\n", None),
    ],
)
def test_the_column_in_the_source(text: str, value: str | None) -> None:
    source = Source("train.py", text)
    found = column_at(source, of_other_rows(COLUMN))
    assert (source.segment(found) if found is not None else None) == value
