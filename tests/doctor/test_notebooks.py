"""A notebook is one script, each line of which is led back to its cell."""

import json
import subprocess
from pathlib import Path

import pytest

from notebook_files import notebook
from surefit.doctor.cells import Cells
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.source.notebooks import NotANotebook, Notebook, errors_left, read_notebook
from surefit.source.patches import Edit, Replace
from surefit.source.spans import Span

CELLS = ("#md # Title", "%matplotlib inline\nimport torch", "  ", "x = 1\ny = 2\n\nz = odd(x)")


def read(*cells: str, indent: int | None = 1) -> Notebook:
    return read_notebook(notebook(*cells, indent=indent).encode())


def change(line: int, begin: int, end: int, text: str) -> Edit:
    return Edit("a.ipynb", (Replace(Span(line, begin, line, end), text),))


def test_cells_with_code_are_counted_and_joined() -> None:
    found = read(*CELLS)
    assert [one.number for one in found.cells] == [1, 2]
    assert found.text.split("\n") == [
        *("# %% cell 1 of 2", "pass  # %matplotlib inline", "import torch"),
        *("# %% cell 2 of 2", "x = 1", "y = 2", "", "z = odd(x)", ""),
    ]
    places = [found.place(line) for line in range(1, 9)]
    assert places == [(1, 1), (1, 1), (1, 2), (2, 1), (2, 1), (2, 2), (2, 3), (2, 4)]


@pytest.mark.parametrize("indent", [1, 2, None])
def test_an_edit_changes_its_cell_and_nothing_else(tmp_path: Path, indent: int | None) -> None:
    found = read(*CELLS, indent=indent)
    edit = change(8, 4, 7, "even")
    after = read_notebook(found.after(edit))
    assert after.cells[0].written == found.cells[0].written
    assert after.cells[1].text == "x = 1\ny = 2\n\nz = even(x)"
    (tmp_path / "a.ipynb").write_text(found.raw)
    subprocess.run(
        ["git", "apply", "-"], cwd=tmp_path, input=found.as_diff(edit), text=True, check=True
    )
    assert (tmp_path / "a.ipynb").read_bytes() == found.after(edit)


def test_a_line_that_is_put_before_a_magic_leaves_it() -> None:
    found = read(*CELLS)
    after = read_notebook(found.after(change(2, 0, 0, "import os\n")))
    assert after.cells[0].text == "import os\n%matplotlib inline\nimport torch"


def test_a_source_in_one_piece_stays_one() -> None:
    document = json.loads(notebook(*CELLS))
    document["cells"][3]["source"] = "z = odd(x)"
    found = read_notebook(json.dumps(document).encode())
    cell = json.loads(found.after(change(5, 4, 7, "even")))["cells"][3]
    assert cell["source"] == "z = even(x)"


def test_an_edit_over_two_cells_is_none() -> None:
    over = Edit("a.ipynb", (Replace(Span(3, 0, 5, 0), ""),))
    with pytest.raises(ValueError, match="reaches over the end of a cell"):
        read(*CELLS).after(over)


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"{", "it is not JSON"),
        (b"\xff", "it is not UTF-8"),
        (b"[1]", "it is JSON, but no notebook"),
        (b'{"nbformat": 3, "worksheets": []}', "its `nbformat` is 3"),
        (notebook("x <- 1", language="R").encode(), "its language is R"),
        (notebook("#md only").encode(), "it has no cell with code in it"),
        (b'{"nbformat": 4, "cells": [{"cell_type": "code", "source": [1]}]}', "no text"),
    ],
)
def test_what_is_no_notebook(raw: bytes, why: str) -> None:
    with pytest.raises(NotANotebook, match=why):
        read_notebook(raw)


def test_a_finding_is_told_by_cells() -> None:
    found = Cells("a.ipynb", read(*CELLS))
    told = found.finding(
        Finding(
            "odd-call",
            "SF998",
            Severity.ERROR,
            Place("a.ipynb", 8, 8),
            "`odd` is called.",
            (Fact("made at", "a.ipynb:5  x = 1, and b.py:5"), Fact("`x`", "from line 5: x = 1")),
            fixes=(Fix("Call `even`.", change(8, 4, 7, "even"), patch="..."), Fix("Or not.")),
            python_said="SyntaxError: odd (a.ipynb, line 6)",
        )
    )
    assert told.place == Place("a.ipynb", 4, 4, cell=2)
    assert str(told.place) == "a.ipynb, cell 2, line 4"
    assert [fact.value for fact in told.facts] == [
        *("a.ipynb, cell 2, line 1  x = 1, and b.py:5", "from cell 2, line 1: x = 1")
    ]
    assert told.python_said == "SyntaxError: odd (a.ipynb, cell 2, line 2)"
    assert told.fixes[0].shown is not None
    assert "+++ b/a.ipynb, cell 2" in told.fixes[0].shown
    assert "-z = odd(x)\n+z = even(x)" in told.fixes[0].shown
    assert told.fixes[1].shown is None


def test_a_finding_elsewhere_keeps_its_lines() -> None:
    elsewhere = Finding(
        "odd-call", "SF998", Severity.ERROR, Place("b.py", 5), "At line 5.", why="line 6"
    )
    assert Cells("a.ipynb", read(*CELLS)).finding(elsewhere) == elsewhere


def test_lines_that_were_left_out_are_said() -> None:
    found = Cells("a.ipynb", read("x = 1\n!pip install odd"))
    (said,) = found.left_out()
    assert said.startswith("a.ipynb, cell 1, line 2: `!pip install odd` was left out")


def test_errors_that_a_run_left() -> None:
    document = json.loads(notebook("1 / 0"))
    error = {"output_type": "error", "traceback": ["ZeroDivisionError", "by zero"]}
    document["cells"][0]["outputs"] = [{"output_type": "stream"}, error]
    assert errors_left(json.dumps(document)) == "ZeroDivisionError\nby zero"
    assert errors_left("[]") == ""
