"""Masks of which the rows meet another axis of the scores."""

import pytest

from failed_operations import crash, span_of
from looking import look
from surefit.doctor.conditions.training import TrainingGoesOn
from surefit.doctor.conditions.values import ValuesAt
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Frame, Script, Value
from surefit.rules.model.mask_lacks_axes import RULE
from surefit.source.edits import patched

FILL = "scores.masked_fill(mask == 0, -1e9)"


def found(
    scores: tuple[int, ...], mask: tuple[int, ...], call: str = FILL, text: str = ""
) -> list[Finding]:
    text = text or f"scores = {call}\n"
    values = Value("scores", "Tensor", 1, shape=scores), Value("mask", "Tensor", 2, shape=mask)
    place, span = Place("train.py", 1), span_of(text, 1, call)
    frame = Frame(place, "<module>", True, text.strip(), call, span, values)
    return look(RULE, [Script("train.py", text), crash(frame)])


@pytest.mark.parametrize(
    ("call", "after"),
    [
        (FILL, "scores.masked_fill(mask[:, None, None, :] == 0, -1e9)"),
        ("scores.masked_fill(~mask, low)", "scores.masked_fill(~mask[:, None, None, :], low)"),
        ("torch.where(mask, scores, low)", "torch.where(mask[:, None, None, :], scores, low)"),
    ],
)
def test_axes_are_put_behind_the_rows(call: str, after: str) -> None:
    (finding,) = found((6, 4, 9, 9), (6, 9), call)
    assert "the 6 rows of the mask meet axis 2, which has the size 9" in finding.headline
    (fix,) = finding.fixes
    assert fix.edit is not None
    assert patched(fix.edit, f"scores = {call}\n") == f"scores = {after}\n"
    assert isinstance(fix.must, ValuesAt)
    assert fix.must.wanted[0].shape == (6, 4, 9, 9)


@pytest.mark.parametrize(
    ("scores", "mask", "index"),
    [
        ((6, 4, 9, 9), (6, 9, 9), "[:, None, :, :]"),
        ((6, 4, 9, 9), (6, 1, 9), "[:, None, :, :]"),
        ((6, 5, 9), (6, 9), "[:, None, :]"),
    ],
)
def test_as_many_as_are_missing(scores: tuple[int, ...], mask: tuple[int, ...], index: str) -> None:
    (finding,) = found(scores, mask)
    assert f"`mask{index}`" in finding.fixes[0].text


def test_what_is_made_of_it_in_the_same_line_is_looked_at() -> None:
    for text in (f"weights = {FILL}.softmax(-1)\n", f"weights = F.softmax({FILL}, dim=-1)\n"):
        (finding,) = found((6, 4, 9, 9), (6, 9), FILL, text)
        assert isinstance(finding.fixes[0].must, ValuesAt)
    (finding,) = found((6, 4, 9, 9), (6, 9), FILL, f"weights = {FILL}.sum(1)\n")
    assert isinstance(finding.fixes[0].must, TrainingGoesOn)


@pytest.mark.parametrize(
    ("scores", "mask"),
    [
        ((6, 4, 9, 9), (9, 9)),
        ((6, 4, 9, 9), (6, 8)),
        ((6, 4, 9, 7), (6, 9)),
        ((24, 9, 9), (6, 9)),
        ((6, 4, 9, 9), (6, 2, 9, 9)),
        ((6, 9), (6,)),
    ],
)
def test_silence(scores: tuple[int, ...], mask: tuple[int, ...]) -> None:
    assert found(scores, mask) == []


def test_attention_in_one_call() -> None:
    call = "F.scaled_dot_product_attention(q, k, v, attn_mask=mask)"
    text = f"y = {call}\n"
    shapes = {"q": (6, 4, 9, 8), "k": (6, 4, 9, 8), "v": (6, 4, 9, 5), "mask": (6, 9)}
    values = tuple(Value(name, "Tensor", 1, shape=shape) for name, shape in shapes.items())
    place, span = Place("train.py", 1), span_of(text, 1, call)
    frame = Frame(place, "<module>", True, text.strip(), call, span, values)
    (finding,) = look(RULE, [Script("train.py", text), crash(frame)])
    (fix,) = finding.fixes
    assert fix.edit is not None
    assert "attn_mask=mask[:, None, None, :])" in patched(fix.edit, text)
    assert isinstance(fix.must, ValuesAt)
    assert fix.must.wanted[0].shape == (6, 4, 9, 5)
