"""Keys that are given with two stars, followed back to where they are written."""

import ast

import pytest

from surefit.source.dictionary_keys import keys_of
from surefit.source.reading import Source


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("s = {'a': 1}\ns['b'] = 2\nf(**s)\n", {"a": 1, "b": 2}),
        ("s = {\n'o': {\n'a': 1}}\nf(**s['o'])\n", {"a": 3}),
        ("def g(**k):\n    f(**k)\ng(a=1)\n", {"a": 3}),
        ("def g(m, **k):\n    f(**k)\ns = dict(a=1)\ng(m=2, **s)\n", {"a": 3}),
        ("def g(s):\n    f(**s['o'])\nC = {'o': {'a': 1}}\ng(C)\n", {"a": 3}),
        ("a = {'x': 1}\nb = {'y': 2}\nf(**{**a, **b})\n", {"x": 1, "y": 2}),
        (
            "class D:\n    def __init__(self, **k):\n        self.k = k\n"
            "    def go(self):\n        f(**self.k)\nD(a=1)\n",
            {"a": 6},
        ),
        ("def g(s):\n    f(**s['o'], **s['p'])\ng({'o': {'a': 1}, 'p': {'b': 1}})\n", {"a": 3}),
        ("f(**read())\n", {}),
        ("a = b\nb = a\nf(**a)\n", {}),
    ],
)
def test_where_each_key_is_written(text: str, keys: dict[str, int]) -> None:
    source = Source("train.py", text)
    spread = [
        one.value
        for call in source.every(ast.Call)
        if ast.unparse(call.func) == "f"
        for one in call.keywords
        if one.arg is None
    ]
    assert {name: node.lineno for name, node in keys_of(source, spread[0])} == keys


def test_functions_that_call_each_other_are_gone_through_once() -> None:
    """Eight of them, eight deep, would be millions of ways."""
    names = [f"g{number}" for number in range(8)]
    calls = "; ".join(f"{name}(**k)" for name in names)
    text = "".join(f"def {name}(**k):\n    {calls}\n" for name in names)
    source = Source("train.py", f"{text}g0(a=1)\n")
    first = next(one for one in source.every(ast.keyword) if one.arg is None)
    assert [name for name, _ in keys_of(source, first.value)] == ["a"]
