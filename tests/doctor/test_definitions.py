"""Where a name has its value from, if the source alone can tell."""

import ast
from textwrap import dedent

import pytest

from surefit.source.definitions import definition
from surefit.source.reading import Source


def value_at(text: str) -> str | None:
    """Of `x` where it is used in `use(x)`."""
    source = Source("s.py", dedent(text))
    (call,) = [
        node
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "use"
    ]
    name = call.args[0]
    assert isinstance(name, ast.Name)
    found = definition(source, name)
    return ast.unparse(found) if found else None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("x = a[:, 1:]\nuse(x)", "a[:, 1:]"),
        ("x = a\nx = b\nuse(x)", "b"),
        ("x = a\nfor y in z:\n    use(x)", "a"),
        ("x = a\nwith y:\n    use(x)", "a"),
        ("x: T = a\nuse(x)", "a"),
        ("def f(x):\n    x = x.t()\n    use(x)", "x.t()"),
        ("x = a\nif y:\n    use(x)\nelse:\n    x = b", "a"),
        ("x = a\n[use(x) for y in z]", "a"),
    ],
)
def test_a_value_that_is_certain(text: str, value: str) -> None:
    assert value_at(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "def f(x):\n    use(x)",
        "x = a\nif y:\n    x = b\nuse(x)",
        "x = a\nfor y in z:\n    use(x)\n    x = b",
        "for x in z:\n    use(x)",
        "x = a\n[use(x) for x in z]",
        "x, y = a\nuse(x)",
        "x = a\nx += 1\nuse(x)",
        "import x\nuse(x)",
        "def f():\n    use(x)\nx = a\nx = b",
        "use(x)",
    ],
)
def test_a_value_that_is_not(text: str) -> None:
    assert value_at(text) is None
