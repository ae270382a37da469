"""Rows that are in memory are read as rows of a file are, and told of by their index."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surefit.data.in_memory import store_rows
from surefit.data.rows import Fields, RowSet, Turn, read_rows
from surefit.data.split import split
from surefit.doctor.findings import Finding
from surefit.errors import BadInput, SurefitError

ROWS = [{"input": f"Question {at}, of its own", "target": f"answer {at % 3}"} for at in range(30)]


def read(data: object, folder: Path, fields: Fields | None = None) -> RowSet:
    path = folder / "data.rows"
    store_rows(data, path)
    return read_rows(str(path), fields or Fields())


def refused(data: object, folder: Path) -> Finding:
    with pytest.raises(SurefitError) as caught:
        read(data, folder)
    (finding,) = caught.value.findings
    return finding


def generated() -> Iterator[dict[str, str]]:
    yield from ROWS


class Indexed:
    """As a torch dataset: a length and items, and nothing to iterate over."""

    def __len__(self) -> int:
        return len(ROWS)

    def __getitem__(self, at: int) -> dict[str, str]:
        return ROWS[at]


def dataset(kind: str) -> Any:
    datasets = pytest.importorskip("datasets")
    made = datasets.Dataset.from_list(ROWS)
    if kind == "splits":
        return datasets.DatasetDict({"train": made, "test": made.select(range(2))})
    return made.to_iterable_dataset() if kind == "iterable" else made


def frame() -> Any:
    return pytest.importorskip("pandas").DataFrame(ROWS, index=range(100, 130))


KINDS: dict[str, Callable[[], object]] = {
    "list": lambda: ROWS,
    "generator": generated,
    "torch dataset": Indexed,
    "Dataset": lambda: dataset("rows"),
    "DatasetDict": lambda: dataset("splits"),
    "IterableDataset": lambda: dataset("iterable"),
    "DataFrame": frame,
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_gives_the_same_rows_and_the_same_split(kind: str, tmp_path: Path) -> None:
    found = read(KINDS[kind](), tmp_path)
    assert (found.source, found.kind) == ("data", "prompt-answer")
    assert [row.turns for row in found.rows] == [
        (Turn("user", row["input"]), Turn("assistant", row["target"])) for row in ROWS
    ]
    assert [str(row.place) for row in found.rows][-1] == "data[29]"
    assert split(found.rows, 0.2, 0).held_out.places.tolist() == (
        split(read(ROWS, tmp_path).rows, 0.2, 0).held_out.places.tolist()
    )


@pytest.mark.parametrize(
    ("row", "rule"),
    [
        ({"input": "x", "target": None}, "null-value"),
        ({"input": "x", "target": b"y"}, "not-text"),
        ({"input": "x", "target": object()}, "not-text"),
        ({"input": "x", "target": "\ud800"}, "invalid-json"),
        ({"input": "x"}, "missing-column"),
        ("a text", "not-an-object"),
        (None, "not-an-object"),
    ],
)
def test_a_bad_row_is_named_by_its_index(row: object, rule: str, tmp_path: Path) -> None:
    finding = refused([*ROWS[:7], row, *ROWS[7:]], tmp_path)
    assert finding.rule == rule
    assert str(finding.place) == "data[7]"
    assert "at `data[7]`" in finding.headline
    assert finding.facts[0].value == "1 of 31: row data[7]"


def test_columns_that_are_not_read_may_hold_anything(tmp_path: Path) -> None:
    rows = [{**row, "when": np.datetime64("2026-01-01"), "more": object()} for row in ROWS]
    assert len(read(rows, tmp_path).rows) == 30


def test_what_pandas_takes_for_missing_is_missing(tmp_path: Path) -> None:
    table = frame()
    table.loc[104, "target"] = np.nan
    finding = refused(table, tmp_path)
    assert (finding.rule, str(finding.place)) == ("null-value", "data[4]")


def test_numbers_of_numpy_are_numbers(tmp_path: Path) -> None:
    table = frame()
    table["target"] = np.arange(30)
    assert refused(table, tmp_path).rule == "not-text"
    found = read(table, tmp_path, Fields(numbers_as_text=True))
    assert [row.target for row in found.rows[:3]] == ["0", "1", "2"]


def test_lists_that_pandas_holds_as_arrays(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    turns = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    table = pandas.DataFrame({"messages": [np.array(turns, dtype=object)] * 3})
    assert read(table, tmp_path).rows[2].turns == (Turn("user", "a"), Turn("assistant", "b"))


@pytest.mark.parametrize("data", [5, {"input": ["a"]}, b"rows"])
def test_what_holds_no_rows_is_refused(data: object, tmp_path: Path) -> None:
    finding = refused(data, tmp_path)
    assert finding.rule == "not-rows"
    assert type(data).__name__ in finding.headline


def test_nothing_in_it(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="`data` is empty"):
        read(iter([]), tmp_path)


def test_a_column_that_is_there_twice(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame([["a", "b", "c"]] * 3, columns=["input", "target", "input"])
    assert refused(table, tmp_path).rule == "repeated-column"
