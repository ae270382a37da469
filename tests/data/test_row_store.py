"""Rows come back from their file as they went in."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefit.data import row_store
from surefit.data.arrow_files import ArrowFile
from surefit.data.row import Row
from surefit.data.row_store import RowWriter, StoredRows, stored_at
from surefit.data.turns import Turn
from surefit.doctor.findings import Place

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
turns = st.lists(
    st.builds(
        Turn,
        st.sampled_from(["system", "user", "assistant", "tool"]),
        texts,
        st.booleans(),
        st.sampled_from(["", "", "{}"]),
    ),
    min_size=1,
    max_size=4,
)


@st.composite
def some_rows(draw: st.DrawFn) -> list[Row]:
    named = draw(st.sampled_from(["line", "row", "index"]))
    numbers = draw(st.lists(st.integers(0, 2**40), max_size=12, unique=True))
    return [
        Row(
            number,
            Place("r", **{named: number + (named != "index")}),
            tuple(draw(turns)),
            draw(st.sampled_from(["", "[]"])),
        )
        for number in sorted(numbers)
    ]


def stored(rows: list[Row], path: Path | None = None) -> StoredRows:
    with RowWriter(path) as writer:
        for row in rows:
            writer.add(row)
        return writer.finish()


@given(rows=some_rows(), at_once=st.integers(1, 5), characters=st.integers(1, 60))
def test_rows_come_back_whole_however_they_are_batched(
    rows: list[Row], at_once: int, characters: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_store, "ROWS_AT_ONCE", at_once)
        patch.setattr(row_store, "CHARACTERS_AT_ONCE", characters)
        found = stored(rows)
    assert found == rows
    assert found[::-1] == rows[::-1]


def rows_of(count: int) -> list[Row]:
    said = (Turn("user", "Where is Ann?"), Turn("assistant", "Rome"))
    return [Row(at, Place("rows.jsonl", line=at + 1), said) for at in range(count)]


def test_a_file_is_read_in_any_order_and_its_pages_are_let_go(tmp_path: Path) -> None:
    rows = rows_of(200 * 3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_store, "ROWS_AT_ONCE", 3)
        found = stored(rows, tmp_path / "rows.arrow")
    let_go: list[None] = []
    found.file.let_go = lambda: let_go.append(None)  # type: ignore[method-assign]
    assert [found[at * 7 % 600] for at in range(600)] == [rows[at * 7 % 600] for at in range(600)]
    assert 600 // 64 <= len(let_go) <= 600 // 16
    assert StoredRows(ArrowFile(tmp_path / "rows.arrow")) == rows


def test_rows_in_memory_are_given_a_file(tmp_path: Path) -> None:
    rows = rows_of(3)
    path = stored_at(rows, tmp_path)
    assert StoredRows(ArrowFile(path)) == rows
    kept = tmp_path / "kept.arrow"
    assert stored_at(stored(rows, kept), tmp_path) == kept


def test_a_failure_leaves_no_file(tmp_path: Path) -> None:
    def stopped() -> None:
        with RowWriter(tmp_path / "rows.arrow") as writer:
            for row in rows_of(row_store.ROWS_AT_ONCE + 1):
                writer.add(row)
            assert (tmp_path / "rows.arrow").exists()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert list(tmp_path.iterdir()) == []
