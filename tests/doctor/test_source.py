"""A source file says what stands where, what a name stands for, and what a call runs."""

import ast

import pytest

from surefit.source.classes import class_of, function_called
from surefit.source.reading import Source, lines_of
from surefit.source.spans import Span


def source_of(text: str) -> Source:
    return Source("train.py", text)


def written(source: Source, text: str) -> ast.expr:
    """The last expression of the file that is written so."""
    return [node for node in source.every(ast.expr) if source.segment(node) == text][-1]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", [""]),
        ("a", ["a"]),
        ("a\n", ["a\n"]),
        ("a\r\nb\rc\n\nd", ["a\r\n", "b\r", "c\n", "\n", "d"]),
        ("a\x0cb\u2028c\x85d\ne", ["a\x0cb\u2028c\x85d\n", "e"]),
    ],
)
def test_lines_are_those_of_python(text: str, lines: list[str]) -> None:
    assert lines_of(text) == lines


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_spans_count_characters(mark: str) -> None:
    source = source_of(f"{mark}größe = 'ß' + x  # ü\n# \x0c\nf(\n  'é', 数)\n")
    shift = len(mark)
    assert source.span(written(source, "x")) == Span(1, 14 + shift, 1, 15 + shift)
    assert source.span(written(source, "数")) == Span(4, 7, 4, 8)
    assert source.segment(source.tree.body[1]) == "f(\n  'é', 数)"
    assert source.expression_at(Span(4, 2, 4, 5)) is written(source, "'é'")
    assert source.comments == {1: "# ü", 2: "# \x0c"}
    first = next(token for token in source.tokens if token.string == "'ß'")
    assert (first.start, first.end) == ((1, 8 + shift), (1, 11 + shift))


def test_odd_backslashes_raise_no_warning() -> None:
    assert source_of(r"x = '\d'").lines == [r"x = '\d'"]


def test_the_innermost_statement_of_a_line() -> None:
    source = source_of("if a:\n    b = [\n        1,\n    ]\n    c = 2\n")
    found = source.statement_at(3)
    assert found is not None
    assert source.segment(found).startswith("b = [")
    assert source.statement_of(written(source, "2")).lineno == 5
    assert source.statement_at(9) is None


@pytest.mark.parametrize(
    ("text", "node", "full"),
    [
        ("import torch\ntorch.optim.AdamW", "torch.optim.AdamW", "torch.optim.AdamW"),
        ("import torch.nn.functional as F\nF.relu", "F.relu", "torch.nn.functional.relu"),
        ("import torch.nn\ntorch.nn.Linear", "torch.nn.Linear", "torch.nn.Linear"),
        ("from torch import nn as n\nn.Linear", "n.Linear", "torch.nn.Linear"),
        ("from torch.nn import Linear\nLinear", "Linear", "torch.nn.Linear"),
        ("from . import data\ndata.rows", "data.rows", ".data.rows"),
        ("from ..a import b\nb", "b", "..a.b"),
        ("import torch\ndef f(torch):\n    return torch.ones", "torch.ones", ""),
        ("import torch\ndef f():\n    return torch.ones", "torch.ones", "torch.ones"),
        ("def f():\n    import torch\ntorch.ones", "torch.ones", ""),
        ("from a import x\nx = 2\nx", "x", ""),
        ("try:\n    import x\nexcept ImportError:\n    x = None\nx.y", "x.y", "x.y"),
        ("try:\n    from a import x\nexcept ImportError:\n    from b import x\nx", "x", ""),
        ("class A:\n    import x\n    def f(self):\n        return x", "x", ""),
        ("import x\n[x for x in y]", "x", ""),
        ("import x\ndef f():\n    global x\n    x = 1\nx.y", "x.y", ""),
        ("f().g", "f().g", ""),
    ],
)
def test_imported_names_are_followed(text: str, node: str, full: str) -> None:
    source = source_of(text)
    assert source.imported(written(source, node)) == full


def test_operators_are_in_no_way_of_names() -> None:
    source = source_of("import a\nx = 1 + 2 < 3\ndef f():\n    return 1 + (not a.b < 2) < -3\n")
    assert source.imported(written(source, "a.b")) == "a.b"
    assert [type(node).__name__ for node in source.up(written(source, "a.b"))] == [
        "Compare",
        "UnaryOp",
        "BinOp",
        "Compare",
        "Return",
        "FunctionDef",
        "Module",
    ]


def test_calls_of_an_imported_function() -> None:
    source = source_of(
        "from torch.optim import SGD\nimport torch\nSGD(a)\ntorch.optim.SGD(b)\nf(c)\n"
    )
    found = source.calls_of("torch.optim.SGD", "torch.optim.AdamW")
    assert sorted(call.lineno for call in found) == [3, 4]


@pytest.mark.parametrize(
    ("text", "node", "value"),
    [
        ("a = 1\nb = a\nb", "b", "1"),
        ("a = 1\na = 2\na", "a", "a"),
        ("a, b = 1, 2\na", "a", "a"),
        ("for a in b: pass\na", "a", "a"),
        ("a = b\nb = a\na", "a", "a"),
        ("a: int = 3\na", "a", "3"),
        ("def f(a=1):\n    return a", "a", "a"),
        ("a = 1\ndef f():\n    return a", "a", "1"),
        ("with f() as a: pass\na", "a", "a"),
        ("a = 1\na += 1\na", "a", "a"),
        ("a = 1\n(a := 2)\na", "a", "a"),
    ],
)
def test_a_name_that_is_assigned_once_has_a_value(text: str, node: str, value: str) -> None:
    source = source_of(text)
    assert source.segment(source.value_of(written(source, node))) == value


def test_arguments_by_name_and_by_place() -> None:
    source = source_of("f(a, b, lr=c)\nf(*d, e)\n")
    first, second = sorted(source.every(ast.Call), key=lambda call: call.lineno)

    def given(call: ast.Call, name: str, position: int | None = None) -> str | None:
        found = source.argument(call, name, position)
        return source.segment(found) if found else None

    assert given(first, "lr") == "c"
    assert given(first, "x", 1) == "b"
    assert given(first, "x", 2) is None
    assert given(first, "x") is None
    assert given(second, "x", 1) is None


MODEL = """\
class Below(nn.Module):
    def encode(self, x):
        return x

class Block(nn.Module):
    def forward(self, x):
        return x

class Model(Below):
    def __init__(self):
        self.block = Block()
        self.other = nn.Linear(1, 2)
    def forward(self, x):
        return self.block(self.encode(self.other(x)))

def train(model):
    model(1)

model = Model().to("cpu")
model(2)
model.encode(3)
train(model)
"""


@pytest.mark.parametrize(
    ("call", "function", "line"),
    [
        ("model(2)", "forward", 13),
        ("model.encode(3)", "encode", 2),
        ("train(model)", "train", 16),
        ("self.block(self.encode(self.other(x)))", "forward", 6),
        ("self.encode(self.other(x))", "encode", 2),
        ("self.other(x)", None, None),
        ("model(1)", None, None),
    ],
)
def test_the_function_that_a_call_runs(call: str, function: str | None, line: int | None) -> None:
    source = source_of(MODEL)
    node = written(source, call)
    assert isinstance(node, ast.Call)
    found = function_called(source, node)
    assert (found and found.name, found and found.lineno) == (function, line)


def test_a_static_method_has_no_self() -> None:
    source = source_of("class A:\n    @staticmethod\n    def f(x):\n        return x\n")
    assert class_of(source, written(source, "x")) is None


def test_definitions_by_name() -> None:
    source = source_of(MODEL)
    assert [one.lineno for one in source.definitions["forward"]] == [6, 13]
    assert isinstance(source.definitions["Model"][0], ast.ClassDef)
