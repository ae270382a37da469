"""Masks of one kind in the place of the other, on hand-made recordings."""

import pytest

from failed_operations import crash, span_of
from looking import look
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Answer, Frame, Layer, Question, Script, Value
from surefit.rules.model.mask_misplaced import RULE
from surefit.source.edits import patched

FUNCTIONAL = "torch/nn/functional.py"
ENDS = {"first": 0.0, "last": 0.6, "all": 0.2}


def found(
    call: str, kind: str, mask: Value, below: Frame, ends: dict[str, float] | None = None
) -> tuple[list[Finding], str]:
    text = f"h = {call}\n"
    layer = Layer(kind, "attend", "Net")
    values = (
        Value("attend", kind, 1, layer=layer),
        Value("x", "Tensor", 2, shape=(5, 8, 16), dtype="float32"),
        mask,
    )
    span = span_of(text, 1, call)
    own = Frame(Place("train.py", 1), "<module>", True, text.strip(), call, span, values)
    about = {"frame": 0, "text": mask.text}
    said = Answer(Question("mask-ends", "1-1", about), dict(ends or ENDS))
    return look(RULE, [Script("train.py", text), crash(own, below), said]), text


def shape_checked(rows: int, asking: int, places: int, shape: tuple[int, ...]) -> Frame:
    values = (
        Value("attn_mask", "Tensor", 9, shape=shape, dtype="float32"),
        Value("bsz", "int", scalar=rows),
        Value("tgt_len", "int", scalar=asking),
        Value("src_len", "int", scalar=places),
    )
    return Frame(Place(FUNCTIONAL, 9), "multi_head_attention_forward", False, values=values)


PAD = Value("pad", "Tensor", 3, shape=(5, 8), dtype="bool")


@pytest.mark.parametrize(
    ("call", "kind", "after"),
    [
        ("attend(x, pad)", "TransformerEncoder", "attend(x, src_key_padding_mask=pad)"),
        (
            "attend(x, src_mask=pad)",
            "TransformerEncoderLayer",
            "attend(x, src_key_padding_mask=pad)",
        ),
        (
            "attend(x, x, x, attn_mask=pad)",
            "MultiheadAttention",
            "attend(x, x, x, key_padding_mask=pad)",
        ),
    ],
)
def test_padding_in_the_place_of_places(call: str, kind: str, after: str) -> None:
    (finding,), text = found(call, kind, PAD, shape_checked(5, 8, 8, (5, 8)))
    (fix,) = finding.fixes
    assert fix.edit is not None
    assert fix.must is not None
    assert patched(fix.edit, text) == f"h = {after}\n"


def test_a_mask_that_is_set_for_what_is_no_padding() -> None:
    ends = {"first": 1.0, "last": 0.4, "all": 0.8}
    checked = shape_checked(5, 8, 8, (5, 8))
    (finding,), text = found("attend(x, mask=pad)", "TransformerEncoder", PAD, checked, ends)
    assert finding.fixes[0].edit is not None
    assert "src_key_padding_mask=~pad" in patched(finding.fixes[0].edit, text)
    ends = {"first": 1.0, "last": 0.0, "all": 0.5}
    (finding,), _ = found("attend(x, mask=pad)", "TransformerEncoder", PAD, checked, ends)
    assert [fix.choice for fix in finding.fixes] == [True, True]


def test_places_in_the_place_of_padding() -> None:
    causal = Value("causal", "Tensor", 3, shape=(8, 8), dtype="bool")
    values = (
        Value("key_padding_mask", "Tensor", 4, shape=(8, 8), dtype="float32"),
        Value("bsz", "int", scalar=5),
    )
    below = Frame(Place(FUNCTIONAL, 9), "_check_key_padding_mask", False, values=values)
    call = "attend(x, src_key_padding_mask=causal)"
    (finding,), text = found(call, "TransformerEncoder", causal, below)
    assert finding.fixes[0].edit is not None
    assert patched(finding.fixes[0].edit, text) == "h = attend(x, mask=causal)\n"


def test_whole_numbers_of_a_tokenizer() -> None:
    real = Value("real", "Tensor", 3, shape=(5, 8), dtype="int64")
    values = (Value("mask", "Tensor", 3, shape=(5, 8), dtype="int64"),)
    below = Frame(Place(FUNCTIONAL, 9), "_canonical_mask", False, values=values)
    call = "attend(x, x, x, key_padding_mask=real)"
    ends = {"first": 1.0, "last": 0.4, "all": 0.8}
    (finding,), text = found(call, "MultiheadAttention", real, below, ends)
    assert finding.fixes[0].edit is not None
    assert "key_padding_mask=real == 0" in patched(finding.fixes[0].edit, text)


def test_silence() -> None:
    other = shape_checked(5, 8, 8, (7, 7))
    assert found("attend(x, pad)", "TransformerEncoder", PAD, other)[0] == []
    other = shape_checked(5, 8, 8, (5, 8))
    assert found("attend(x, pad)", "Attention", PAD, other)[0] == []


def test_whole_numbers_for_attention_in_one_call() -> None:
    call = "F.scaled_dot_product_attention(x, x, x, attn_mask=real)"
    text = f"h = {call}\n"
    values = (
        Value("x", "Tensor", 2, shape=(5, 8, 16), dtype="float32"),
        Value("real", "Tensor", 3, shape=(5, 8, 8), dtype="int64"),
    )
    span = span_of(text, 1, call)
    own = Frame(Place("train.py", 1), "<module>", True, text.strip(), call, span, values)
    (finding,) = look(RULE, [Script("train.py", text), crash(own)])
    assert finding.fixes[0].edit is not None
    assert "attn_mask=real.bool())" in patched(finding.fixes[0].edit, text)
