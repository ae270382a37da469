"""Edit operators of tables, columns and rows: what each makes of a line, and where it gives up."""

import ast
from collections.abc import Callable

import pytest

from surefit.doctor.findings import Place
from surefit.doctor.observations import Script
from surefit.doctor.recording import Recording
from surefit.doctor.violations import Expression
from surefit.laws.case import Case, Remedy
from surefit.remedies.columns import RenameWhereCreated, removals
from surefit.remedies.missing import LeaveOut
from surefit.remedies.parameters import NameParameters
from surefit.remedies.rows import Renumber
from surefit.remedies.spread import GiveOnly
from surefit.source.edits import patched
from surefit.source.reading import Source

FILE = "train.py"


def case(text: str) -> Case:
    return Case(Recording([Script(FILE, text)]))


def after(text: str, remedy: Remedy) -> str | None:
    edit = remedy.edit(case(text))
    return patched(edit, text) if edit is not None else None


def at_call(text: str, remedy: Callable[[Expression], Remedy]) -> str | None:
    source = Source(FILE, text)
    call = next(source.every(ast.Call))
    return after(text, remedy(case(text).expression(source, call)))


@pytest.mark.parametrize(
    ("kind", "becomes"),
    [
        ("DataFrame", 'rows = read(path).dropna(subset=["a", "b"]).reset_index(drop=True)\n'),
        (
            "Dataset",
            'rows = read(path).filter(lambda row: row["a"] is not None and row["b"] is not None)\n',
        ),
        (
            "list",
            'rows = [row for row in read(path) if isinstance(row["a"], str) and'
            ' isinstance(row["b"], str)]\n',
        ),
    ],
)
def test_rows_without_a_text_are_left_out(kind: str, becomes: str) -> None:
    def left_out(at: Expression) -> Remedy:
        return LeaveOut(at=at, kind=kind, columns=("a", "b"), words="w")

    assert at_call("rows = read(path)\n", left_out) == becomes


def test_a_table_is_numbered_again_before_a_function_does_anything_with_it() -> None:
    begin = "class Rows:\n    def __init__(self, table):\n"
    text = f'{begin}        """Of a table."""\n        use(table)\n'
    remedy = Renumber(at=Expression(Place(FILE, 2)), parameter="table")
    becomes = (
        '"""Of a table."""\n        table = table.reset_index(drop=True)\n        use(table)\n'
    )
    assert (after(text, remedy) or "").endswith(becomes)
    assert after("def f(table): use(table)\n", remedy) is None


def test_parameters_are_named_only_where_further_ones_are_taken() -> None:
    text = "class Net:\n    def forward(self, *, scale=1, **inputs):\n        return inputs\n"
    named = after(text, NameParameters(model="Net", names=("ids",)))
    assert named is not None
    assert "def forward(self, *, scale=1, ids=None, **inputs):\n" in named
    assert "        inputs.update(ids=ids)\n        return inputs\n" in named
    assert after(text.replace(", **inputs", ""), NameParameters(model="Net", names=("i",))) is None
    assert after(text, NameParameters(model="Other", names=("ids",))) is None


def test_many_keys_are_given_but_for_the_strange_ones() -> None:
    def give(at: Expression) -> Remedy:
        return GiveOnly(at=at, taken=("a", "b", "c", "d"), strange=("id",))

    becomes = '**{key: value for key, value in batch.items() if key not in ("id",)}'
    assert at_call("y = net(**batch)\n", give) == f"y = net({becomes})\n"
    assert at_call("y = net(batch)\n", give) is None


def test_a_column_that_is_read_elsewhere_keeps_its_name() -> None:
    text = 'def row(at):\n    return {"y": at, "x": 1}\n'
    rename = RenameWhereCreated(names={"y": "labels"})
    assert after(text, rename) == text.replace('"y"', '"labels"')
    assert after(f'{text}print(rows["y"])\n', rename) is None


def test_calls_that_keep_other_columns_remove_this_one() -> None:
    source = Source(FILE, 'a.set_format("torch", columns=["x"])\nb.remove_columns(["y", "z"])\n')
    assert [removal.call.lineno for removal in removals(source, "y")] == [1, 2]
    assert [removal.call.lineno for removal in removals(source, "x")] == []
