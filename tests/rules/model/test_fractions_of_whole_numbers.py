"""Means and gradients of whole numbers, on hand-made recordings."""

import pytest

from failed_operations import crash, span_of
from looking import look
from surefit.doctor.conditions.numbers import NumberAt
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Frame, Passed, Process, Script, Value
from surefit.doctor.recording import Recording
from surefit.rules.model.fractions_of_whole_numbers import RULE
from surefit.source.edits import patched


def found(call: str, dtype: str = "bool", *below: Frame) -> tuple[list[Finding], str]:
    text = f"import torch\nfrom torch import nn\ny = {call}\n"
    x = Value("x", "Tensor", 1, shape=(8,), dtype=dtype, least=0, greatest=1)
    span = span_of(text, 3, call)
    own = Frame(Place("train.py", 3), "<module>", True, f"y = {call}", call, span, (x,))
    return look(RULE, [Script("train.py", text), crash(own, *below)]), text


@pytest.mark.parametrize(
    ("call", "dtype", "after"),
    [
        ("x.mean()", "bool", "x.float().mean()"),
        ("torch.mean(x)", "int64", "torch.mean(x.float())"),
        ("(a == b).mean()", "float32", "(a == b).float().mean()"),
        ("x.std()", "int64", "x.float().std()"),
    ],
)
def test_they_are_cast_before(call: str, dtype: str, after: str) -> None:
    (finding,), text = found(call, dtype)
    (fix,) = finding.fixes
    assert fix.edit is not None
    assert fix.must is not None
    assert f"y = {after}\n" in patched(fix.edit, text)


@pytest.mark.parametrize(
    ("call", "after"),
    [
        (
            "torch.tensor([1, 2], requires_grad=True)",
            "torch.tensor([1, 2], requires_grad=True, dtype=torch.float32)",
        ),
        (
            "torch.arange(4, requires_grad=True)",
            "torch.arange(4, requires_grad=True, dtype=torch.float32)",
        ),
        ("x.requires_grad_()", "x.float().requires_grad_()"),
    ],
)
def test_floats_from_the_start(call: str, after: str) -> None:
    (finding,), text = found(call, "int64")
    assert finding.fixes[0].edit is not None
    assert f"y = {after}\n" in patched(finding.fixes[0].edit, text)


def test_a_parameter() -> None:
    data = Value("data", "Tensor", 2, shape=(4,), dtype="int64")
    below = Frame(Place("torch/nn/parameter.py", 9), "Parameter.__new__", False, values=(data,))
    (finding,), text = found("nn.Parameter(torch.ones(4).long())", "int64", below)
    assert finding.fixes[0].edit is not None
    assert "nn.Parameter(torch.ones(4).long().float())" in patched(finding.fixes[0].edit, text)


def test_silence() -> None:
    assert found("x.mean()", "float32")[0] == []
    assert found("x.sum()", "int64")[0] == []
    assert found("x.mean(dtype=torch.float32)", "int64")[0] == []
    assert found("torch.tensor([1.0, 2.0], requires_grad=True)")[0] == []
    assert found("torch.tensor(rows, requires_grad=True)")[0] == []


@pytest.mark.parametrize(("numbers", "held"), [((0.25, 0.5), True), ((0.25, 1.5), False)])
def test_a_number_within_bounds(numbers: tuple[float, ...], held: bool) -> None:
    must = NumberAt(Place("train.py", 3), "y", 0, 1)
    came = [
        Passed(Process(1), must.watchpoint, step, (Value("y", "float", scalar=one),))
        for step, one in enumerate(numbers)
    ]
    assert must.judge(Recording([]), Recording([*came])).held is held
    assert not must.judge(Recording([]), Recording([])).decided
