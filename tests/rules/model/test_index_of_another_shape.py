"""Indices for `gather` and `scatter` that have not the axes of what they pick from."""

import pytest

from failed_operations import crash, span_of
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Frame, Script, Value
from surefit.doctor.recording import Recording
from surefit.rules.model.index_of_another_shape import RULE
from surefit.source.edits import patched

Shape = tuple[int, ...]


def found(
    call: str, of: Shape, index: Shape, bounds: tuple[float, float] = (0, 1), before: str = ""
) -> tuple[list[Finding], str]:
    text = f"import torch\n{before}y = {call}\n"
    line = text.count("\n")
    values = (
        Value("x", "Tensor", 1, shape=of, dtype="float32"),
        Value("i", "Tensor", 2, shape=index, dtype="int64", least=bounds[0], greatest=bounds[1]),
    )
    span = span_of(text, line, call)
    frame = Frame(Place("train.py", line), "<module>", True, f"y = {call}", call, span, values)
    return list(RULE.look(Recording([Script("train.py", text), crash(frame)]))), text


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
    (finding,), text = found(call, of, index, bounds)
    (fix,) = finding.fixes
    assert fix.edit is not None
    assert fix.must is not None
    assert patched(fix.edit, text) == f"import torch\ny = {after}\n"


def test_labels_are_shifted_as_the_predictions_are_cut() -> None:
    before = "x = logits[:, :-1].log_softmax(-1)\n"
    (finding,), _ = found("x.gather(2, i)", (4, 8, 50), (4, 9, 1), (0, 49), before)
    assert "`i[:, 1:]`" in finding.fixes[0].text


def test_a_mark_for_places_that_do_not_count() -> None:
    (finding,), _ = found("x.gather(1, i)", (4, 9), (4, 1), (-100, 8))
    assert "clamp(min=0)" in finding.fixes[0].text
    assert finding.fixes[0].edit is None


def test_two_ways_that_only_the_user_can_choose_from() -> None:
    (finding,), _ = found("x.gather(1, i)", (4, 7, 9), (4, 7), (0, 6))
    assert finding.fixes[0].edit is None
    assert "`dim=-1`" in finding.fixes[0].text


@pytest.mark.parametrize(
    ("call", "of", "index"),
    [
        ("x.gather(1, i)", (8, 3), (8, 1)),
        ("x.index_select(1, i)", (8, 3), (8,)),
        ("x.gather(1, j)", (8, 3), (8,)),
    ],
)
def test_silence(call: str, of: Shape, index: Shape) -> None:
    assert found(call, of, index)[0] == []


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
    (finding,) = RULE.look(Recording([Script("train.py", text), crash(frame)]))
    assert finding.fixes[0].edit is not None
    after = "y = x.scatter_add_(0, i.unsqueeze(-1).expand_as(rows), rows)\n"
    assert patched(finding.fixes[0].edit, text) == after
