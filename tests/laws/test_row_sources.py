"""Where a script scales its inputs, and where a collate function joins its rows."""

import pytest

from surefit.laws.rows.joined_lists import joined_list
from surefit.laws.rows.scaling_sources import bound_late, scalings, training_rows
from surefit.source.reading import Source


@pytest.mark.parametrize(
    ("text", "name", "rows", "late"),
    [
        ("x = (x - x.mean(0)) / x.std(0)\ntrain = x[:80]\n", "x", "x[:80]", 0),
        ("x = x - x.mean(0)\ntrain = x[:80]\n", None, None, 0),
        (
            "low, high = x.min(0), x.max(0)\nx = (x - low) / (high - low)\n"
            "order = draw(len(x))\nx_train, x_test = x[order[:8]], x[order[8:]]\n",
            "x",
            "x[order[:8]]",
            1,
        ),
        ("x = scaler.fit_transform(x)\ntest, train = x[80:], x[:80]\n", "x", "x[:80]", 0),
        ("for x in loader:\n    x = (x - x.mean(0)) / x.std(0)\n", None, None, 0),
    ],
)
def test_scaling(text: str, name: str | None, rows: str | None, late: int) -> None:
    source = Source("train.py", text)
    found = scalings(source, ("x",))
    assert [scaling.name for scaling in found] == ([] if name is None else [name])
    for scaling in found:
        taken = training_rows(scaling, "train")
        assert taken is not None
        assert source.segment(taken) == rows
        assert len(bound_late(scaling, taken)) == late


COLLATE = """
def join(rows):
    xs, edges = [], []
    for x, edge in rows:
        xs.append(x)
        edges.append(edge)
    return torch.cat(xs), {"edges": torch.cat(edges, 1)}


def named(rows):
    parts = []
    for row in rows:
        parts.append(row["edge"])
    joined = torch.cat(parts, 1)
    return {"edge": joined, "y": rows}
"""


@pytest.mark.parametrize(
    ("line", "key", "element"),
    [(2, "0", "x"), (2, "1", None), (10, "edge", 'row["edge"]'), (10, "y", None), (4, "0", None)],
)
def test_joined_lists(line: int, key: str, element: str | None) -> None:
    source = Source("train.py", COLLATE)
    found = joined_list(source, line, key)
    assert (source.segment(found.element) if found is not None else None) == element
