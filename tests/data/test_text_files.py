"""Plain text files are read as texts: parted by blank lines, or line by line."""

from pathlib import Path

import pytest

from surefit.data.bad_rows import BadRow
from surefit.data.raw import RawRow
from surefit.data.rows import Fields, read_rows
from surefit.data.text_files import read_text
from surefit.errors import BadInput

TEXTS = Fields(text="text")


def texts(content: bytes, tmp_path: Path) -> list[tuple[int | None, object]]:
    file = tmp_path / "some.txt"
    file.write_bytes(content)
    rows = list(read_text(file, "some.txt"))
    assert all(isinstance(row, RawRow) for row in rows)
    return [(row.place.line, row.values["text"]) for row in rows if isinstance(row, RawRow)]


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        (b"one\ntwo\n", [(1, "one"), (2, "two")]),
        (b"one\ntwo\n\nthree\n", [(1, "one\ntwo"), (4, "three")]),
        (b"\n\none\ntwo", [(3, "one"), (4, "two")]),
        (b"one\r\n \t\r\n\r\ntwo\r\nthree", [(1, "one"), (4, "two\r\nthree")]),
        (b"\xef\xbb\xbfone\n\n\n\n", [(1, "one")]),
        (b"\n \n", []),
    ],
)
def test_blank_lines_part_texts(
    content: bytes, wanted: list[tuple[int, str]], tmp_path: Path
) -> None:
    assert texts(content, tmp_path) == wanted


def test_a_line_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    file = tmp_path / "some.txt"
    file.write_bytes(b"caf\xc3\xa9\nna\xefve\n")
    first, second = read_text(file, "some.txt")
    assert isinstance(first, RawRow)
    assert isinstance(second, BadRow)
    assert second.place.line == 2


def test_texts_are_rows_where_they_are_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "some.txt"
    file.write_text("one\ntwo\nthree\n")
    read = read_rows(str(file), TEXTS)
    assert read.kind == "text"
    assert [row.input for row in read.rows] == ["one", "two", "three"]
    with pytest.raises(BadInput) as refused:
        read_rows(str(file))
    assert [finding.rule for finding in refused.value.findings] == ["missing-column"]


def test_answers_win_over_a_column_of_texts(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text('{"text": "a", "input": "b", "target": "c"}\n' * 2)
    assert read_rows(str(file), TEXTS).kind == "prompt-answer"
    file.write_text('{"text": "a", "label": 1}\n{"text": null}\n{"text": "b"}\n')
    with pytest.raises(BadInput) as refused:
        read_rows(str(file), TEXTS)
    assert [finding.rule for finding in refused.value.findings] == ["null-value"]


@pytest.mark.parametrize(("content", "rule"), [("", "empty-source"), ("hi", "too-few-rows")])
def test_too_little_text_is_refused(content: str, rule: str, tmp_path: Path) -> None:
    file = tmp_path / "some.txt"
    file.write_text(content)
    with pytest.raises(BadInput) as refused:
        read_rows(str(file), TEXTS)
    assert refused.value.findings[0].rule == rule
