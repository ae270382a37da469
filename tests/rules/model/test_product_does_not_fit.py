"""Products of which one side is the wrong way round."""

import pytest

from failed_operations import crash, span_of
from looking import look
from surefit.doctor.conditions.values import ValuesAt
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Frame, Script, Value
from surefit.rules.model.product_does_not_fit import RULE


def found(first: tuple[int, ...], second: tuple[int, ...], call: str = "a @ b") -> list[Finding]:
    text = f"scores = {call}\n"
    a, b = Value("a", "Tensor", 1, shape=first), Value("b", "Tensor", 2, shape=second)
    place, span = Place("train.py", 1), span_of(text, 1, call)
    frame = Frame(place, "<module>", True, text.strip(), call, span, (a, b))
    return look(RULE, [Script("train.py", text), crash(frame)])


@pytest.mark.parametrize("call", ["a @ b", "torch.bmm(a, b)", "a.matmul(b)"])
def test_the_one_that_can_be_turned_is_turned(call: str) -> None:
    (finding,) = found((4, 5, 16), (4, 6, 16), call)
    (fix,) = finding.fixes
    assert fix.text == "Swap them back: `b.transpose(-2, -1)`."
    assert fix.edit is not None
    assert isinstance(fix.must, ValuesAt)
    assert fix.must.wanted[0].shape == (4, 5, 6)


def test_where_both_could_be_turned_it_is_a_choice() -> None:
    (finding,) = found((5, 16), (5, 16))
    assert len(finding.fixes) == 2
    assert all(fix.choice and fix.edit is not None for fix in finding.fixes)


@pytest.mark.parametrize(
    ("first", "second"), [((4, 5, 16), (4, 16, 6)), ((4, 5, 16), (3, 6, 16)), ((5, 16), (7, 9))]
)
def test_silence(first: tuple[int, ...], second: tuple[int, ...]) -> None:
    assert found(first, second) == []
