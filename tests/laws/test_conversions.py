"""Which conversions the form of a value leads to, by what it is given to."""

import ast
from dataclasses import replace

import pytest

from surefit.doctor.observations import Value
from surefit.laws.values.conversions import Taker, conversions, package_of, writes
from surefit.laws.values.failing_values import FailingValue

ARRAY = Value("x", "ndarray", shape=(4, 4), dtype="float32", stride=(16, 4), contiguous=True)
TENSOR = Value(
    "x",
    "Tensor",
    shape=(4, 4),
    dtype="float32",
    device="cpu",
    stride=(4, 1),
    contiguous=True,
    requires_grad=True,
    leaf=False,
)
NUMBER = replace(TENSOR, shape=(), stride=())
REVERSED = replace(ARRAY, stride=(16, -4), contiguous=False)
JSON = Taker(None, "", "python", is_layer=False, function="default")
TORCH = Taker(None, "torch.add", "own", is_layer=False)
NUMPY = Taker(None, "numpy.add", "own", is_layer=False)
COPIES = Taker(None, "copy.deepcopy", "torch", is_layer=False, function="__deepcopy__")
OWN = Taker(None, "", "own", is_layer=False)


def around(value: Value, taker: Taker, own: bool = True) -> list[str]:
    return [
        f"{conversion.before}x{conversion.after}"
        for conversion in conversions(FailingValue(value, 0, own), taker)
    ]


@pytest.mark.parametrize(
    ("value", "taker", "first"),
    [
        (REVERSED, TORCH, "x.copy()"),
        (replace(ARRAY, read_only=True), replace(OWN, writes=True), "x.copy()"),
        (replace(TENSOR, stride=(0, 1)), replace(OWN, writes=True), "x.clone()"),
        (ARRAY, JSON, "x.tolist()"),
        (Value("x", "float32", scalar=0.5), JSON, "x.item()"),
        (Value("x", "bool"), JSON, "x.item()"),
        (NUMBER, JSON, "x.item()"),
        (Value("x", "PosixPath"), JSON, "str(x)"),
        (Value("x", "set"), JSON, "sorted(x)"),
        (Value("x", "generator"), OWN, "list(x)"),
        (ARRAY, TORCH, "torch.as_tensor(x)"),
        (Value("x", "list", kinds={"Tensor": 3}), TORCH, "torch.stack(x)"),
        (Value("x", "Series"), TORCH, "x.to_numpy()"),
        (TENSOR, NUMPY, "x.detach().cpu().numpy()"),
        (replace(ARRAY, dtype="object"), TORCH, 'x.astype("float32")'),
    ],
)
def test_the_form_of_a_value_leads_to_its_conversion(
    value: Value, taker: Taker, first: str
) -> None:
    own = taker is not JSON
    assert around(value, taker, own)[:1] == [first]


def test_what_is_copied_is_detached_and_what_learns_is_not() -> None:
    assert around(TENSOR, COPIES, own=False) == ["x.detach()"]
    assert around(TENSOR, COPIES) == []
    assert around(TENSOR, replace(COPIES, in_backward=True), own=False) == []
    assert around(TENSOR, TORCH) == []


@pytest.mark.parametrize(
    ("text", "value", "first"),
    [
        ("x.append", Value("x", "tuple"), "list(x)"),
        ("x.exists", Value("x", "str", scalar="a/b"), "pathlib.Path(x)"),
        ("x.to", Value("x", "list", kinds={"int": 3}), "torch.as_tensor(x)"),
        ("x.astype", TENSOR, "x.detach().cpu().numpy()"),
        ('"epoch " + x', Value("x", "int", scalar=3), "str(x)"),
        ("x / 'log'", Value("x", "str", scalar="runs"), "pathlib.Path(x)"),
        ('",".join(x)', Value("x", "list", kinds={"int": 3}), "map(str, x)"),
        ("names[x]", NUMBER, "x.item()"),
    ],
)
def test_the_expression_says_what_it_needs(text: str, value: Value, first: str) -> None:
    taker = replace(OWN, node=ast.parse(text, mode="eval").body, values=(value,))
    assert around(value, taker)[:1] == [first]


@pytest.mark.parametrize("value", [ARRAY, TENSOR, Value("x", "list", kinds={"int": 2})])
def test_usual_values_in_the_users_own_expression_are_left_alone(value: Value) -> None:
    assert around(value, OWN) == []


def test_the_package_of_a_file() -> None:
    assert package_of("torch/nn/functional.py") == "torch"
    assert package_of("/usr/lib/python3.11/json/encoder.py") == "python"


@pytest.mark.parametrize(
    ("text", "is_write"),
    [("x[0] = 1", True), ("x *= 2", True), ("x.fill_(0)", True), ("y = x[0]", False)],
)
def test_statements_that_write(text: str, is_write: bool) -> None:
    assert writes(ast.parse(text).body[0]) is is_write
