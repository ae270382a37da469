"""Rows that a dataset stores: by source, and from hand-made measures."""

from dataclasses import replace

import pytest

from surefit.doctor.findings import Place
from surefit.doctor.measures.stored_rows import FetchedRows, StoredChange
from surefit.doctor.observations import Process
from surefit.doctor.recording import Recording
from surefit.laws.case import Case
from surefit.laws.invariants.stored_rows import violations_of
from surefit.laws.rows.stored_views import stored_view
from surefit.source.reading import Source

CHANGE = StoredChange(
    dataset="Signals",
    attribute="x",
    kind="ndarray",
    place=Place("train.py", 2),
    own=True,
    rows=8,
    again=8,
    times=2,
    returned=True,
    epochs=2,
    step=19,
    mean_before=0.0,
    std_before=1.0,
    mean_after=0.0,
    std_after=0.4,
)


@pytest.mark.parametrize(("again", "broken"), [(8, True), (4, True), (3, False), (0, False)])
def test_rows_must_change_again(again: int, broken: bool) -> None:
    change = replace(CHANGE, again=again)
    measure = FetchedRows(process=Process(pid=1), steps=19, rows=48, changes=(change,))
    assert bool(list(violations_of(Case(Recording([measure]))))) is broken


@pytest.mark.parametrize(
    ("body", "write", "is_tensor"),
    [
        ("row = self.x[i]; row *= 2; return row", "row *= 2", False),
        ("row = torch.from_numpy(self.x[i]); row.sub_(1).div_(2); return row", "row.sub_(1)", True),
        ("self.x[i] -= 1; return self.x[i]", "self.x[i] -= 1", False),
        ("row = self.x[i]; part = row[2:4]; part[:] = 0; return row", "part[:] = 0", False),
        ("row, y = self.x[i]; np.clip(row, 0, 1, out=row); return row, y", "np.clip(", False),
        ("row = self.x[i]; return self.transform(row)", "", False),
    ],
)
def test_what_writes_into_a_stored_row(body: str, write: str, is_tensor: bool) -> None:
    view = stored_view(
        Source("a.py", f"class A:\n  def __getitem__(self, i):\n    {body}\n"), 2, "x"
    )
    assert view is not None
    assert (view.source.segment(view.write) if view.write else "").startswith(write)
    assert bool(view.write) is bool(write)
    assert view.is_tensor is is_tensor
    assert view.is_returned


@pytest.mark.parametrize(
    "body",
    [
        "self.x[i] = f(i); return self.x[i]",
        "return self.y[i]",
    ],
)
def test_what_is_stored_on_purpose(body: str) -> None:
    source = Source("a.py", f"class A:\n  def __getitem__(self, i):\n    {body}\n")
    assert stored_view(source, 2, "x") is None
