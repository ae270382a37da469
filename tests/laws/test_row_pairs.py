"""Rows and labels: from hand-made measures, and by source."""

from dataclasses import replace

import pytest

from surefit.doctor.findings import Place
from surefit.doctor.measures.row_pairs import ArrayPair, RowPairs
from surefit.doctor.observations import Process
from surefit.doctor.recording import Recording
from surefit.laws.case import Case
from surefit.laws.invariants.row_pairs import violations_of
from surefit.laws.rows.permuted_names import partner, two_orders
from surefit.rules.data.rows_and_labels_not_paired import made_for
from surefit.source.reading import Source

PAIR = ArrayPair(
    place=Place("train.py", 3),
    inputs="x",
    targets="y",
    length=2000,
    rows=200,
    equal=200,
    mapped=200,
    majority=40,
    unlike=0.05,
)
APART = replace(PAIR, equal=30, mapped=55)


def broken_in(*pairs: ArrayPair) -> list[str]:
    measure = RowPairs(process=Process(), step=3, rows=200, pairs=pairs)
    return [type(broken).__name__ for broken in violations_of(Case(Recording([measure])))]


@pytest.mark.parametrize(
    ("pair", "broken"),
    [
        (PAIR, []),
        (APART, ["LabelsOfOtherRows"]),
        (replace(PAIR, apart=190), ["LabelsInOtherOrder"]),
        (replace(APART, apart=190), ["LabelsOfOtherRows"]),
        (replace(APART, mapped=200), []),
        (replace(APART, unlike=0.6), []),
        (replace(APART, majority=190, mapped=190), []),
        (replace(APART, rows=40), []),
    ],
)
def test_pairs(pair: ArrayPair, broken: list[str]) -> None:
    assert broken_in(pair) == broken


def test_another_column_beside_the_labels() -> None:
    assert broken_in(replace(APART, targets="site"), PAIR) == []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("x = rng.permutation(x)\ny = rng.permutation(y)\n", 2),
        ("np.random.shuffle(x)\nnp.random.shuffle(labels)\n", 2),
        ("x = x[torch.randperm(9)]\ny = y[torch.randperm(9)]\n", 2),
        ("x = x[torch.randperm(9)]\n", 1),
        ("order = torch.randperm(9)\nx = x[order]\ny = y[order]\n", None),
        ("random_y = rng.permutation(y)\n", None),
        ("x = x[order]\n", None),
    ],
)
def test_orders_in_the_source(text: str, line: int | None) -> None:
    found = two_orders(Source("a.py", f"import numpy as np\n{text}"))
    assert (found.culprit.statement.lineno - 1 if found else None) == line


def test_what_a_function_gives_back() -> None:
    source = Source("a.py", "def f(a):\n  b, c = a[1:], a.drop(2)\n  return b, c\nx, y = f(z)\n")
    found = made_for(source, Place("train.py", len(source.lines)), "y")
    assert found is not None
    assert source.segment(found) == "a.drop(2)"


@pytest.mark.parametrize(
    ("text", "beside"),
    [
        ("x = x[p]\nfor i in n:\n    yield x[i : i + 8], y[i : i + 8]\n", "y"),
        ("x = x[p]\nrows = TensorDataset(x, t)\n", "t"),
        ("x = x[p]\nrows = TensorDataset(x)\n", ""),
        ("x = x[p]\nrows = TensorDataset(x, t, w)\n", ""),
    ],
)
def test_what_stands_beside(text: str, beside: str) -> None:
    indented = text.replace("\n", "\n    ").rstrip()
    source = Source("train.py", f"def f(x, y):\n    p = torch.randperm(len(x))\n    {indented}\n")
    orders = two_orders(source)
    assert orders is not None
    assert partner(orders.culprit) == beside
