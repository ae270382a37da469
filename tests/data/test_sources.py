"""Every format gives the same rows with their lines, and every fault names its place."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from surefit.data.bad_rows import BadRow
from surefit.data.raw import RawRow
from surefit.data.sources import count_rows, open_source
from surefit.doctor.findings import Finding
from surefit.errors import BadInput

ROWS: list[dict[str, object]] = [
    {"input": "Where is Ann?", "target": "Rome"},
    {"input": "Où est Léa?", "target": "Zürich"},
]
Line = tuple[int | None, dict[str, object]]


@pytest.fixture(autouse=True)
def _inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(name: str, content: str | bytes) -> str:
    Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
    return name


def read(name: str) -> list[Line]:
    """Lines, or row numbers, and values of a source without bad rows."""
    found: list[Line] = []
    for row in open_source(name).rows:
        assert isinstance(row, RawRow)
        assert row.place.file == name
        found.append((row.place.line or row.place.row, row.values))
    return found


def bad(name: str) -> Finding:
    """The finding of the one bad row."""
    (row,) = (row for row in open_source(name).rows if isinstance(row, BadRow))
    return row.finding()


def refused(name: str) -> Finding:
    with pytest.raises(BadInput) as error:
        list(open_source(name).rows)
    (finding,) = error.value.findings
    return finding


def facts(finding: Finding) -> dict[str, str]:
    return {fact.name: fact.value for fact in finding.facts}


# Formats


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.ndjson", "ROWS.JSONL"])
def test_json_lines(name: str) -> None:
    text = "\n\n".join(json.dumps(row, ensure_ascii=False) for row in ROWS)
    assert read(write(name, text)) == [(1, ROWS[0]), (3, ROWS[1])]


def test_a_utf8_mark_is_passed_over() -> None:
    mark = b"\xef\xbb\xbf"
    assert read(write("a.jsonl", mark + b'{"input": "a"}')) == [(1, {"input": "a"})]
    assert read(write("a.json", mark + b'[{"input": "a"}]')) == [(1, {"input": "a"})]
    assert read(write("a.csv", mark + b"input\na")) == [(2, {"input": "a"})]


def test_a_json_list_knows_the_line_of_each_element() -> None:
    text = json.dumps(ROWS, indent=2)
    assert read(write("rows.json", text)) == [(2, ROWS[0]), (6, ROWS[1])]


def test_the_one_list_of_a_json_object_is_read() -> None:
    text = json.dumps({"version": 1, "data": ROWS, "by": {"name": "x"}}, indent=1)
    assert read(write("rows.json", text)) == [(4, ROWS[0]), (8, ROWS[1])]


def test_a_json_file_of_one_object_on_each_line_is_read() -> None:
    text = "\n".join(json.dumps(row) for row in ROWS)
    assert read(write("rows.json", text)) == [(1, ROWS[0]), (2, ROWS[1])]


def test_csv_rows_are_placed_where_they_begin() -> None:
    text = 'input,target\n"two\nlines, and ""quotes""",x\n\nthird,y\n'
    assert read(write("rows.csv", text)) == [
        (2, {"input": 'two\nlines, and "quotes"', "target": "x"}),
        (5, {"input": "third", "target": "y"}),
    ]


def test_csv_cells_can_be_longer_than_pythons_limit() -> None:
    ((_, values),) = read(write("rows.csv", f"input,target\n{'a' * 200_000},x\n"))
    assert values["input"] == "a" * 200_000


def test_tsv() -> None:
    assert read(write("rows.tsv", "input\ttarget\na,b\tc\n")) == [
        (2, {"input": "a,b", "target": "c"})
    ]


def test_parquet_over_several_row_groups() -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    many: list[dict[str, object]] = [{"input": f"i{n}", "target": str(n)} for n in range(7)]
    pq.write_table(pa.Table.from_pylist(many), "rows.parquet", row_group_size=3)
    assert read("rows.parquet") == list(enumerate(many, start=1))


@pytest.mark.parametrize(
    ("name", "content", "count"),
    [
        ("rows.jsonl", "{}\n" * 7, 7),
        ("rows.csv", "input,target\n" * 4, 3),
        ("rows.csv", 'input,target\n"a\nb","say ""\n"""\nc,d', 2),
        ("rows.tsv", "", 0),
        ("rows.json", "[{}]", None),
        ("rows.parquet", "PAR1 this is not one", None),
        ("rows.txt", "a\n", None),
    ],
)
def test_rows_are_counted_for_a_bar_where_that_is_quick(
    name: str, content: str, count: int | None
) -> None:
    assert count_rows(write(name, content)) == count


def test_other_sources_are_not_counted() -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist(ROWS), "rows.parquet")
    assert count_rows("rows.parquet") == 2
    assert count_rows("embedded") == 1000
    assert (count_rows("."), count_rows("owner/name"), count_rows("nowhere.jsonl")) == (None,) * 3


def test_a_datasets_folder() -> None:
    import datasets

    datasets.Dataset.from_list(ROWS).save_to_disk("saved")
    assert read("saved") == list(enumerate(ROWS, start=1))


def test_a_datasets_folder_of_splits_is_read_from_train_and_says_so() -> None:
    import datasets

    parts = {"test": ROWS[:1], "train": ROWS}
    splits = {name: datasets.Dataset.from_list(rows) for name, rows in parts.items()}
    datasets.DatasetDict(splits).save_to_disk("saved")
    assert read("saved") == list(enumerate(ROWS, start=1))
    assert open_source("saved").notes == ("read the split `train` of `test`, `train`",)
    assert read("saved/test") == [(1, ROWS[0])]


def test_a_datasets_folder_without_train_names_its_splits() -> None:
    import datasets

    splits = {"test": datasets.Dataset.from_list(ROWS), "dev": datasets.Dataset.from_list(ROWS)}
    datasets.DatasetDict(splits).save_to_disk("saved")
    finding = refused("saved")
    assert (finding.rule, str(finding.place)) == ("no-such-split", "saved")
    assert facts(finding)["its splits"] == "test, dev"
    assert "`saved/SPLIT`" in finding.fixes[0].text


def test_a_folder_with_one_file_of_rows() -> None:
    Path("folder").mkdir()
    write("folder/rows.jsonl", json.dumps(ROWS[0]))
    write("folder/README.md", "about")
    source = open_source("folder")
    (row,) = source.rows
    assert str(row.place) == "folder/rows.jsonl:1"
    assert source.notes == ("read `folder/rows.jsonl`",)


def test_the_embedded_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    import surefit.embedded

    path = Path(write("shipped.jsonl", json.dumps(ROWS[0])))
    monkeypatch.setattr(surefit.embedded, "ROWS", path, raising=False)
    assert read("embedded") == [(1, ROWS[0])]


def test_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    def load_dataset(name: str, split: str | None) -> object:
        assert name == "owner/name"
        loaded = datasets.Dataset.from_list(ROWS)
        return loaded if split else datasets.DatasetDict({"train": loaded})

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    assert read("owner/name") == read_again("owner/name:test")
    assert open_source("owner/name").notes == ("read the split `train` of `train`",)


def read_again(name: str) -> list[Line]:
    assert len(read(name)) == 2
    return read(name)


# Faults of whole sources


def test_a_missing_file_is_named_with_its_nearest() -> None:
    write("trian.jsonl", "{}")
    finding = refused("train.jsonl")
    assert (finding.rule, str(finding.place)) == ("no-such-source", "train.jsonl")
    assert finding.headline == (
        "There is no file or folder `train.jsonl`. The nearest name is `trian.jsonl`."
    )


def test_a_missing_folder_is_said() -> None:
    finding = refused("nowhere/train.jsonl")
    assert facts(finding) == {"in `nowhere`": "no such folder"}


def test_an_unknown_kind_of_file_names_the_known_ones() -> None:
    finding = refused(write("rows.xlsx", "x"))
    assert (finding.rule, str(finding.place)) == ("unknown-kind-of-file", "rows.xlsx")
    assert facts(finding)["its end"] == ".xlsx"
    assert ".jsonl" in facts(finding)["known"]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("rows.jsonl", "", "`rows.jsonl` is empty."),
        ("rows.jsonl", "\n \n", "`rows.jsonl` holds no rows."),
        ("rows.json", "[]", "`rows.json` holds no rows."),
        ("rows.csv", "", "`rows.csv` is empty."),
        ("rows.csv", "input,target\n", "`rows.csv` holds no rows."),
    ],
)
def test_an_empty_file_is_refused(name: str, content: str, said: str) -> None:
    finding = refused(write(name, content))
    assert (finding.rule, str(finding.place), finding.headline) == ("empty-source", name, said)
    assert facts(finding)["size"] == f"{len(content)} bytes"


@pytest.mark.parametrize("names", [[], ["a.csv", "b.jsonl"]])
def test_a_folder_is_refused_unless_one_file_is_in_it(names: list[str]) -> None:
    Path("folder").mkdir()
    for name in names:
        write(f"folder/{name}", "x")
    finding = refused("folder")
    assert (finding.rule, str(finding.place)) == ("unclear-folder", "folder")
    assert facts(finding)["files of rows"] == (", ".join(names) or "nothing")


def test_a_damaged_parquet_file_is_refused() -> None:
    finding = refused(write("rows.parquet", b"PAR1 this is not one"))
    assert (finding.rule, str(finding.place)) == ("unreadable-table", "rows.parquet")
    assert finding.python_said.startswith("ArrowInvalid: ")


def test_a_damaged_datasets_folder_is_refused() -> None:
    Path("saved").mkdir()
    write("saved/dataset_info.json", "{}")
    finding = refused("saved")
    assert (finding.rule, str(finding.place)) == ("unreadable-table", "saved")


def test_a_hub_that_does_not_answer_is_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    def load_dataset(name: str, split: str | None) -> object:
        raise ConnectionError(f"Couldn't reach '{name}' on the Hub, {split}")

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    finding = refused("owner/name:dev")
    assert (finding.rule, str(finding.place)) == ("hub-failed", "owner/name:dev")
    assert finding.python_said == "ConnectionError: Couldn't reach 'owner/name' on the Hub, dev"


@pytest.mark.parametrize("content", ['{"a": 1}', '{"a": [1], "b": []}', "{}"])
def test_a_json_object_without_one_list_is_refused(content: str) -> None:
    finding = refused(write("rows.json", content))
    assert (finding.rule, str(finding.place)) == ("no-list-of-rows", "rows.json:1")
    assert facts(finding)["its keys"] == (", ".join(json.loads(content)) or "none")


# Faults of lines


def test_invalid_json_names_line_column_and_text() -> None:
    finding = bad(write("rows.jsonl", '{"a": 1}\n\n{"input": "x" "target": "y"}\n{"a": 2}\n'))
    assert (finding.rule, str(finding.place)) == ("invalid-json", "rows.jsonl:3")
    assert finding.headline == "The JSON is invalid on line 3."
    assert finding.python_said == "Expecting ',' delimiter: column 15"
    assert facts(finding) == {"column": "15", "text around it": '{"input": "x" "target": "y"}'}


@pytest.mark.parametrize("line", ['{"a": "\\ud800"}', '{"a": ' + "[" * 100_000, '{"a": "x\ty"}'])
def test_lines_that_only_some_readers_take_are_invalid(line: str) -> None:
    assert bad(write("rows.jsonl", line)).rule == "invalid-json"


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ('[\n {"a": 1},\n {"a" 2}\n]', 3, "Expecting ':' delimiter: column 7"),
        ('[{"a": 1}\n{"a": 2}]', 2, "Expecting ',' delimiter: column 1"),
        ('[{"a": 1},\n', 2, "Expecting value: column 1"),
        ('{"data": [\n1, 2', 2, "Expecting ',' delimiter: column 5"),
        ('"text"', 1, "Expecting a list of objects: column 1"),
    ],
)
def test_invalid_json_in_a_json_file(text: str, line: int, said: str) -> None:
    finding = refused(write("rows.json", text))
    assert (finding.rule, str(finding.place)) == ("invalid-json", f"rows.json:{line}")
    assert finding.python_said == said


def test_nan_is_a_number_as_python_writes_it() -> None:
    ((line, values),) = read(write("rows.jsonl", '{"input": "a", "score": NaN}'))
    assert (line, values["input"], str(values["score"])) == (1, "a", "nan")


def test_a_key_that_stands_twice_is_named() -> None:
    finding = bad(write("rows.jsonl", '{"target": "a", "input": "b", "target": "c"}'))
    assert (finding.rule, str(finding.place)) == ("repeated-key", "rows.jsonl:1")
    assert finding.headline == "`target` occurs twice in the object on line 1."


def test_a_key_in_a_value_or_inside_is_not_twice() -> None:
    row = {"target": "target", "input": {"target": "input"}}
    assert read(write("rows.jsonl", json.dumps(row))) == [(1, row)]


@pytest.mark.parametrize(
    ("line", "what"),
    [("[1, 2]", "a list"), ('"x"', "a text"), ("3", "a number"), ("null", "null")],
)
def test_a_line_that_is_no_object(line: str, what: str) -> None:
    for name, content, at in (("a.jsonl", f"{{}}\n{line}", 2), ("a.json", f"[{{}},\n\n{line}]", 3)):
        finding = bad(write(name, content))
        assert (finding.rule, str(finding.place)) == ("not-an-object", f"{name}:{at}")
        assert finding.headline == f"There is {what} in place of an object on line {at}."


LATIN = '{"input": "café", "target": "x"}'.encode("latin-1")


def test_a_line_that_is_not_utf8_names_the_byte() -> None:
    finding = bad(write("rows.jsonl", b'{"input": "a"}\n' + LATIN + b"\n"))
    assert (finding.rule, str(finding.place)) == ("not-utf-8", "rows.jsonl:2")
    assert facts(finding)["byte"] == "0xe9, byte 15 of the line, 30 of the file"
    assert facts(finding)["read as cp1252"] == '{"input": "café", "target": "x"}'
    assert "iconv -f cp1252 -t utf-8 rows.jsonl" in finding.fixes[0].text


def test_an_encoding_is_only_named_if_it_gives_printable_text() -> None:
    finding = bad(write("rows.jsonl", b'{"input": "\x81\xff"}'))
    assert list(facts(finding)) == ["byte", "text before it"]
    assert finding.fixes == ()


def test_json_and_csv_files_that_are_not_utf8_name_line_and_byte() -> None:
    finding = refused(write("rows.json", b"[\n" + LATIN + b"\n]"))
    assert (finding.rule, str(finding.place)) == ("not-utf-8", "rows.json:2")
    finding = refused(write("rows.csv", b"input,target\n\ncaf\xe9,x\n"))
    assert (finding.rule, str(finding.place)) == ("not-utf-8", "rows.csv:3")
    assert facts(finding)["byte"] == "0xe9, byte 4 of the line, 18 of the file"


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.json", "rows.csv"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_other_marks_are_known(name: str, encoding: str) -> None:
    finding = refused(write(name, '{"input": "a"}\n'.encode(encoding)))
    assert (finding.rule, finding.place.file) == ("not-utf-8", name)
    assert f"the mark of {encoding.upper()}" in finding.headline


@pytest.mark.parametrize(("cells", "last"), [("a,b,c", "c"), ("a", "a")])
def test_a_csv_row_of_another_width(cells: str, last: str) -> None:
    finding = bad(write("rows.csv", f'input,target\n"1\n2",y\n{cells}\n'))
    assert (finding.rule, str(finding.place)) == ("ragged-cells", "rows.csv:4")
    assert facts(finding) == {
        "header": "2 columns: input, target",
        "cells": f"{len(cells.split(','))}, the last of them: {last}",
    }


def test_a_csv_quote_that_is_not_closed_names_where_its_row_begins() -> None:
    finding = refused(write("rows.csv", 'input,target\na,b\n"c,d\ne,f\n'))
    assert (finding.rule, str(finding.place)) == ("invalid-csv", "rows.csv:3")
    assert finding.python_said == "unexpected end of data"


def test_a_csv_column_that_is_named_twice() -> None:
    finding = refused(write("rows.csv", "input,target,input\na,b,c\n"))
    assert (finding.rule, str(finding.place)) == ("repeated-column", "rows.csv:1")
    assert finding.headline == "The header names the column `input` 2 times."


def test_json_lines_are_read_without_heavy_imports() -> None:
    name = write("rows.jsonl", json.dumps(ROWS[0]))
    code = (
        "import sys; from surefit.data.sources import open_source\n"
        f"assert len(list(open_source({name!r}).rows)) == 1\n"
        "print([m for m in ('torch', 'datasets', 'pyarrow', 'numpy', 'rensa') if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
