"""What is unlike all earlier evaluations of a line."""

import pytest

from surefit.doctor.observations import Value
from surefit.laws.values.earlier import difference


def tensor(*shape: int, dtype: str = "float32", least: float = 0, greatest: float = 0) -> Value:
    return Value("x", "Tensor", shape=shape, dtype=dtype, least=least, greatest=greatest)


def labels(greatest: float) -> Value:
    return tensor(8, dtype="int64", greatest=greatest)


NOTHING = Value("x", "NoneType")
TEXT = Value("x", "str", length=3, scalar="abc")


@pytest.mark.parametrize(
    ("now", "before", "said"),
    [
        (tensor(1, 4), [tensor(64, 4)] * 3, "axis 0 was 64"),
        (tensor(8, 600), [tensor(8, 128), tensor(8, 512)], "axis 1 was at most 512"),
        (tensor(8, 0), [tensor(8, 128), tensor(8, 512)], "axis 1 was at least 128"),
        (tensor(8, 200), [tensor(8, 128), tensor(8, 512)], ""),
        (tensor(8), [tensor(8, 2)], "2 axes"),
        (tensor(8, dtype="float64"), [tensor(8)], "float32"),
        (labels(5), [labels(4), labels(2)], "at most 4"),
        (labels(4), [labels(4), labels(2)], ""),
        (NOTHING, [TEXT], "'abc'"),
        (TEXT, [TEXT], ""),
        (Value("x", "list", length=0), [Value("x", "list", length=3)] * 2, "length was 3"),
    ],
)
def test_what_all_others_had_in_common(now: Value, before: list[Value], said: str) -> None:
    assert difference(now, before) == said
