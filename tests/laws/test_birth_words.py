"""Why an operation gave NaN, by what it was given."""

import pytest

from surefit.doctor.gradient_births import ForwardValue, TakenOperand
from surefit.laws.losses.birth_words import is_of_nothing, is_of_single_elements, reason


def value(name: str, *operands: TakenOperand, elements: int = 1) -> ForwardValue:
    return ForwardValue(name, (), elements=elements, bad=1, operands=operands)


@pytest.mark.parametrize(
    ("birth", "words"),
    [
        (value("std", TakenOperand((1,), 2.0, 2.0)), "a single element"),
        (value("mean", TakenOperand((0,))), "the mean of no elements"),
        (value("log", TakenOperand((4,), 0.0, 1.0, 1)), "log(0)"),
        (value("log", TakenOperand((4,), -1.0, 1.0)), "negative"),
        (value("sqrt", TakenOperand((4,), -1.0, 1.0)), "negative"),
        (value("div", TakenOperand((), 1.0, 1.0), TakenOperand((), 0.0, 0.0, 1)), "by 0"),
        (value("exp", TakenOperand((4,), 0.0, 200.0)), "overflows"),
        (value("matmul", TakenOperand((4,), 0.0, 1e30)), "overflows"),
    ],
)
def test_operands_tell_the_reason(birth: ForwardValue, words: str) -> None:
    assert words in reason(birth)


def test_what_the_operands_do_not_tell_is_left_open() -> None:
    assert reason(value("log", TakenOperand((4,), 0.1, 1.0))) == ""
    assert reason(value("div", TakenOperand((), 1.0, 1.0), TakenOperand((), 1.0, 2.0))) == ""


def test_a_deviation_along_an_axis_of_one() -> None:
    assert is_of_single_elements(value("std", TakenOperand((1, 5)), elements=5))
    assert not is_of_single_elements(value("std", TakenOperand((2, 5)), elements=5))
    assert not is_of_nothing(value("mean", TakenOperand((3,))))
