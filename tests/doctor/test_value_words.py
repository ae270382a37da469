"""Values in words."""

import pytest

from surefit.doctor.observations import Layer, Value
from surefit.laws.values.value_words import in_words

FOUR = {str(at): Value(str(at), "int", scalar=at) for at in range(4)}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (Value("x", "Tensor", shape=(2, 3), dtype="float32", device="cpu"), "float32 (2, 3)"),
        (
            Value("x", "Tensor", shape=(2,), dtype="int64", device="cuda:1", least=-1, greatest=9),
            "int64 (2,) on cuda:1, from -1 to 9",
        ),
        (
            Value("x", "Tensor", shape=(), dtype="float16", not_finite=1),
            "float16 (), 1 of them not finite",
        ),
        (
            Value("x", "memmap", shape=(4,), dtype="float32", file="a.npy"),
            "memmap float32 (4,), in a.npy",
        ),
        (Value("x", "NoneType"), "None"),
        (Value("x", "str", scalar="a" * 100, length=100), "'" + "a" * 58 + "…"),
        (Value("x", "list", length=3, lengths=(1, 2, 3)), "list of 3, lengths 1, 2, 3"),
        (Value("x", "list", length=2, lengths=(5, 5)), "list of 2, each of 5 items"),
        (Value("x", "list", length=9, nones=2), "list of 9, 2 of them None"),
        (Value("x", "Size", length=4, members=FOUR), "(0, 1, 2, 3)"),
        (
            Value(
                "x",
                "dict",
                length=2,
                members={"ids": Value("ids", "Tensor", shape=(8, 4), dtype="int64")},
            ),
            "dict of 2: ids int64 (8, 4), ...",
        ),
        (
            Value(
                "x", "Linear", layer=Layer("Linear", sizes={"in_features": 3, "out_features": 4})
            ),
            "Linear(3 → 4)",
        ),
        (
            Value("x", "Config", members={"width": Value("width", "int", scalar=8)}),
            "Config(width=8)",
        ),
        (Value("x", "Thing"), "Thing"),
    ],
)
def test_in_words(value: Value, words: str) -> None:
    assert in_words(value) == words
