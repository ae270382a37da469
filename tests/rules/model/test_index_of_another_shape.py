"""Indices for `gather`, `scatter` and brackets that do not fit what they pick from."""

import pytest

from failed_operations import crash, span_of
from recorded_findings import Chains, found, mended, number
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Frame, Value
from surefit.lineage.producers import Way
from surefit.rules.model.index_of_another_shape import RULE

Shape = tuple[int, ...]


def picked(
    call: str,
    of: Shape,
    index: Shape,
    bounds: tuple[float, float] = (0, 1),
    before: str = "",
    chains: Chains | None = None,
) -> tuple[list[Finding], str]:
    text = f"import torch\n{before}y = {call}\n"
    line = text.count("\n")
    values = (
        Value("x", "Tensor", 1, shape=of, dtype="float32"),
        Value("i", "Tensor", 2, shape=index, dtype="int64", least=bounds[0], greatest=bounds[1]),
    )
    span = span_of(text, line, call)
    frame = Frame(Place("train.py", line), "<module>", True, f"y = {call}", call, span, values)
    return found(RULE, text, crash(frame), chains=chains), text


@pytest.mark.parametrize(
    ("call", "of", "index", "bounds", "after"),
    [
        ("x.gather(1, i)", (8, 3), (8,), (0, 2), "x.gather(1, i.unsqueeze(1)).squeeze(1)"),
        (
            "torch.gather(x, -1, i)",
            (4, 7, 9),
            (4, 7),
            (0, 8),
            "torch.gather(x, -1, i.unsqueeze(-1)).squeeze(-1)",
        ),
        ("x.scatter_(1, i, 1)", (8, 3), (8,), (0, 2), "x.scatter_(1, i.unsqueeze(1), 1)"),
        (
            "x.gather(1, i)",
            (4, 7, 9),
            (4,),
            (0, 6),
            "x.gather(1, i.unsqueeze(-1).unsqueeze(-1).expand(-1, -1, x.size(2)))",
        ),
        ("x.gather(1, i)", (6, 20), (15, 6), (0, 19), "x.gather(1, i.transpose(0, 1))"),
        ("x.gather(dim=0, index=i)", (4, 3), (4, 5), (0, 2), "x.gather(dim=1, index=i)"),
        ("x.gather(0, i)", (4, 9), (4, 1), (0, 8), "x.gather(1, i)"),
        ("x.gather(1, i)", (8, 3), (8, 1, 1), (0, 2), "x.gather(1, i.squeeze(2))"),
    ],
)
def test_what_makes_them_fit(
    call: str, of: Shape, index: Shape, bounds: tuple[float, float], after: str
) -> None:
    (finding,), text = picked(call, of, index, bounds)
    assert finding.fixes[0].must is not None
    assert not finding.fixes[0].choice
    assert mended(finding, text) == f"import torch\ny = {after}\n"


def test_labels_are_shifted_as_the_predictions_are_cut() -> None:
    before = "x = logits[:, :-1].log_softmax(-1)\n"
    (finding,), text = picked("x.gather(2, i)", (4, 8, 50), (4, 9, 1), (0, 49), before)
    assert "x.gather(2, i[:, 1:])" in mended(finding, text)


@pytest.mark.parametrize(
    ("call", "of", "index", "after"),
    [
        (
            "x.gather(1, i)",
            (4, 9),
            (4, 1),
            "x.gather(1, i.clamp(min=0)).masked_fill(i < 0, 0)",
        ),
        ("x[i]", (9,), (4, 7), "x[i.clamp(min=0)].masked_fill(i < 0, 0)"),
    ],
)
def test_what_a_marker_picks_takes_no_part(call: str, of: Shape, index: Shape, after: str) -> None:
    (finding,), text = picked(call, of, index, (-100, 8))
    (fix,) = finding.fixes
    assert fix.choice
    assert mended(finding, text) == f"import torch\ny = {after}\n"


def test_a_marker_is_not_written_to_a_class() -> None:
    (finding,), _ = picked("x.scatter_(1, i, 1)", (4, 9), (4, 1), (-100, 8))
    assert [fix.edit for fix in finding.fixes] == [None]


def test_an_index_that_counts_from_one() -> None:
    numbers = Value("i", "Tensor", shape=(6,), dtype="int64", least=1, greatest=9)
    before = "i = rows.item\nx = torch.zeros(9, 4)\n"
    chains: Chains = {
        (0, "i"): [("rows.item", numbers)],
        (0, "x"): [
            ("torch.zeros(9, 4)", Value("x", "Tensor", shape=(9, 4))),
            ("9", number(9), Way.ARGUMENT, "0"),
        ],
    }
    (finding,), text = picked("x[i]", (9, 4), (6,), (1, 9), before, chains)
    assert "i = rows.item - 1\n" in mended(finding, text)
    assert "torch.zeros(10, 4)" in mended(finding, text, 1)
    assert all(fix.choice for fix in finding.fixes)


def test_both_ways_are_offered_where_either_can_be_meant() -> None:
    (finding,), text = picked("x.gather(1, i)", (4, 7, 9), (4, 7), (0, 6))
    assert [fix.choice for fix in finding.fixes] == [True, True]
    assert "x.gather(2, i.unsqueeze(-1)).squeeze(-1)" in mended(finding, text)
    assert "x.gather(1, i.unsqueeze(-1).expand(-1, -1, x.size(2)))" in mended(finding, text, 1)


@pytest.mark.parametrize(
    ("call", "of", "index", "bounds"),
    [
        ("x.gather(1, i)", (8, 3), (8, 1), (0, 1)),
        ("x.index_select(1, i)", (8, 3), (8,), (0, 1)),
        ("x.gather(1, j)", (8, 3), (8,), (0, 1)),
        ("x[i]", (8, 3), (8,), (-8, 7)),  # counts from the end
        ("x[None, i]", (8, 3), (8,), (0, 7)),
    ],
)
def test_silence(call: str, of: Shape, index: Shape, bounds: tuple[float, float]) -> None:
    assert picked(call, of, index, bounds)[0] == []


def test_each_number_that_is_written_gets_its_index() -> None:
    call = "x.scatter_add_(0, i, rows)"
    text = f"y = {call}\n"
    values = (
        Value("x", "Tensor", 1, shape=(4, 8), dtype="float32"),
        Value("i", "Tensor", 2, shape=(20,), dtype="int64", least=0, greatest=3),
        Value("rows", "Tensor", 3, shape=(20, 8), dtype="float32"),
    )
    span = span_of(text, 1, call)
    frame = Frame(Place("train.py", 1), "<module>", True, text.strip(), call, span, values)
    (finding,) = found(RULE, text, crash(frame))
    assert mended(finding, text) == "y = x.scatter_add_(0, i.unsqueeze(-1).expand_as(rows), rows)\n"
