"""Files with any encoding and ends of lines are patched as they are written."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefit.proof.own_file import OwnFile, read_by_python
from surefit.source.patches import Edit, Replace
from surefit.source.spans import Span

TEXT = "import os\nvalue = 'ä'\nx = 1\n"
EDIT = Edit("train.py", (Replace(Span(1, 0, 1, 0), "import re\n"), Replace(Span(3, 4, 3, 5), "2")))
AFTER = "import re\nimport os\nvalue = 'ä'\nx = 2\n"


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
def test_a_patch_keeps_the_form(tmp_path: Path, newline: str, encoding: str) -> None:
    cookie = "# coding: latin-1\n" if encoding == "latin-1" else "#\n"
    path = tmp_path / "train.py"
    path.write_bytes((cookie + TEXT).replace("\n", newline).encode(encoding))
    file = OwnFile.read(path)
    assert read_by_python(file.text) == cookie + TEXT
    edit = Edit("train.py", tuple(Replace(lower(one.span), one.text) for one in EDIT.changes))
    assert file.patched(edit).content == (cookie + AFTER).replace("\n", newline).encode(encoding)
    assert file.patched(edit).text == cookie + AFTER


def lower(span: Span) -> Span:
    return Span(span.line + 1, span.column, span.end_line + 1, span.end_column)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_git_takes_the_diff(tmp_path: Path, newline: str, encoding: str) -> None:
    path = tmp_path / "train.py"
    path.write_bytes(TEXT.replace("\n", newline).encode(encoding))
    diff = OwnFile.read(path).as_diff(EDIT)
    done = subprocess.run(
        ["git", "apply", "--whitespace=nowarn", "-"],
        input=diff.encode(),
        cwd=tmp_path,
        check=False,
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr
    assert path.read_bytes() == AFTER.replace("\n", newline).encode(encoding)


def test_an_edit_that_leaves_no_python(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TEXT)
    broken = Edit("train.py", (Replace(Span(1, 0, 1, 0), "(\n"),))
    with pytest.raises(ValueError, match=r"leaves no Python in train\.py"):
        OwnFile.read(tmp_path / "train.py").as_diff(broken)


@given(st.text(alphabet="ab\r\n ", max_size=20))
def test_without_an_edit_the_bytes_are_the_same(text: str) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.py"
        path.write_bytes(text.encode())
        file = OwnFile.read(path)
        assert file.patched(Edit("x.py", ())).content == text.encode()
        assert read_by_python(file.text) == text.replace("\r\n", "\n").replace("\r", "\n")
