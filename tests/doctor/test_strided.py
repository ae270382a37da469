"""Expressions that leave gaps in memory, and names that stand for them."""

import ast

import pytest

from surefit.doctor.observations import Value
from surefit.evidence.strided import explains, how, strided_behind
from surefit.source.reading import Source


def parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("x[:, 1:]", "slice"),
        ("x[::2]", "slice"),
        ("x[:, 0]", "slice"),
        ("x[..., :3]", "slice"),
        ("x[1:]", ""),
        ("x[rows]", ""),
        ("x[:, :]", ""),
        ("x[:, None]", ""),
        ("x.T", "transposition"),
        ("x.permute(0, 2, 1)", "transposition"),
        ("torch.transpose(x, 0, 1)", "transposition"),
        ("x.expand(4, -1)", "expansion"),
        ("x.narrow(1, 0, 3)", "slice"),
        ("x.sum()", ""),
        ("x", ""),
    ],
)
def test_how(text: str, kind: str) -> None:
    assert how(parsed(text)) == kind


def test_a_name_is_followed_to_its_slice() -> None:
    source = Source("s.py", "a = x[:, 1:]\nb = a.to(device)\nc = b\nc.view(-1)")
    last = source.tree.body[-1]
    assert isinstance(last, ast.Expr)
    assert isinstance(last.value, ast.Call)
    assert isinstance(last.value.func, ast.Attribute)
    found = strided_behind(source, last.value.func.value)
    assert found is not None
    assert ast.unparse(found) == "x[:, 1:]"


def test_strides_contradict_an_expression() -> None:
    turned = Value("y", "Tensor", shape=(3, 4), stride=(1, 3))
    cut = Value("y", "Tensor", shape=(3, 4), stride=(5, 1))
    assert explains(parsed("x.T"), turned)
    assert not explains(parsed("x.T"), cut)
    assert explains(parsed("x[:, 1:]"), cut)
    assert not explains(parsed("x[:, 1:]"), turned)
    assert explains(parsed("x[:, 1:]"), None)
