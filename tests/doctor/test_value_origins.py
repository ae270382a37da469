"""What a value of a file comes from, through names, settings, arguments and `return`s."""

import ast
from textwrap import dedent

import pytest

from surefit.source.constants import number, text, truth
from surefit.source.operations import operation
from surefit.source.origins import origin
from surefit.source.outcomes import outcomes, own_class_of
from surefit.source.reading import Source


def used(script: str) -> tuple[Source, ast.expr]:
    """The source, and what is given to `use(...)` in it."""
    source = Source("s.py", dedent(script))
    (call,) = [
        node
        for node in source.every(ast.Call)
        if isinstance(node.func, ast.Name) and node.func.id == "use"
    ]
    return source, call.args[0]


def origin_in(script: str) -> str:
    source, node = used(script)
    return ast.unparse(origin(source, node))


@pytest.mark.parametrize(
    ("script", "value"),
    [
        ("x = f()\ny = x\nuse(y)", "f()"),
        ("SIZE = 4\ndef f():\n    use(SIZE)", "4"),
        ("def f():\n    use(SIZE)\nSIZE = 4", "4"),
        ("def f(x):\n    use(x)\nf(3)", "3"),
        ("def f(y, x=5):\n    use(x)\nf(3)", "5"),
        ("def f(y, *, x):\n    use(x)\nf(3, x=6)", "6"),
        (
            "class A:\n    def __init__(self, n):\n        self.n = n\n"
            "    def g(self):\n        use(self.n)\nA(7)",
            "7",
        ),
        ("class A:\n    def g(self, n):\n        use(n)\na = A()\na.g(8)", "8"),
        ("C = {'lr': 0.1}\nuse(C['lr'])", "0.1"),
        ("C = dict(lr=0.1)\nuse(C['lr'])", "0.1"),
        ("class C:\n    lr = 0.1\nuse(C.lr)", "0.1"),
        ("@dataclass\nclass C:\n    lr: float = 0.1\nc = C()\nuse(c.lr)", "0.1"),
        ("@dataclass\nclass C:\n    lr: float = 0.1\nc = C(lr=0.2)\nuse(c.lr)", "0.2"),
        ("from types import SimpleNamespace\nc = SimpleNamespace(lr=0.1)\nuse(c.lr)", "0.1"),
    ],
)
def test_a_value_is_followed(script: str, value: str) -> None:
    assert origin_in(script) == value


@pytest.mark.parametrize(
    ("script", "value"),
    [
        ("x = a\nif b:\n    x = c\nuse(x)", "x"),
        ("for x in y:\n    use(x)", "x"),
        ("def f(x):\n    use(x)\nf(3)\nf(4)", "x"),
        ("def f(x):\n    use(x)\nf(3)\nmap(f, rows)", "x"),
        ("def f(x):\n    use(x)\nf(*rows)", "x"),
        ("class A:\n    def g(self, n):\n        use(n)\na = A()\na.g(8)\nother.g(9)", "n"),
        ("C = {'lr': 0.1}\nC['lr'] = 0.2\nuse(C['lr'])", "C['lr']"),
        ("C = {'lr': 0.1}\nC[name] = 0.2\nuse(C['lr'])", "C['lr']"),
        ("C = {'lr': 0.1}\nC.update(other)\nuse(C['lr'])", "C['lr']"),
        ("C = {'lr': 0.1, **other}\nuse(C['lr'])", "C['lr']"),
        ("class C:\n    lr = 0.1\nC.lr = 0.2\nuse(C.lr)", "C.lr"),
        ("class C:\n    lr = 0.1\nc = C(**given)\nuse(c.lr)", "c.lr"),
        ("x = x\nuse(x)", "x"),
        (
            "class A:\n    def __init__(self):\n        self.n = 1\n"
            "    def g(self):\n        self.n += 1\n        use(self.n)",
            "self.n",
        ),
    ],
)
def test_what_can_have_another_value_stays(script: str, value: str) -> None:
    assert origin_in(script) == value


def test_numbers_texts_and_truths() -> None:
    assert number(*used("A = 3\nB = A * 4\nuse(B - 2)")) == 10
    assert number(*used("use(-A)\nA = True")) is None
    assert text(*used("NAME = 'gpt2'\nuse(NAME)")) == "gpt2"
    assert truth(*used("C = dict(pad=True)\nuse(C['pad'])")) is True
    assert truth(*used("use(1)")) is None


MODEL = """
    import torch.nn as nn
    from torch.nn import functional as F
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.act = nn.Softmax(dim=-1)
        def forward(self, x):
            {body}
    def build():
        return Net().to(device)
    def train(model, batch):
        {line}
    train(build(), rows)
"""


@pytest.mark.parametrize(
    ("body", "line", "ends"),
    [
        ("return self.act(x)", "use(model(batch))", ["torch.nn.Softmax"]),
        (
            "return F.softmax(x, -1)",
            "y = model(batch)\n        use(y)",
            ["torch.nn.functional.softmax"],
        ),
        ("return x.softmax(-1)", "use(model(batch))", [".softmax"]),
        (
            "return self.act(x), x.sum()",
            "p, s = model(batch)\n        use(p)",
            ["torch.nn.Softmax"],
        ),
        ("return self.act(x), x.sum()", "use(model(batch)[1])", [".sum"]),
        ("return {'p': self.act(x)}", "use(model(batch)['p'])", ["torch.nn.Softmax"]),
        ("return x.a() if self.training else x.b()", "use(model(batch))", [".a", ".b"]),
    ],
)
def test_what_a_forward_gives_back(body: str, line: str, ends: list[str]) -> None:
    source, node = used(MODEL.format(body=body, line=line))
    found = outcomes(source, node)
    assert [operation(source, one) for one in found if isinstance(one, ast.Call)] == ends


@pytest.mark.parametrize(
    "script",
    [
        "def f(x):\n    yield x.a()\nuse(f(1))",
        "def f(x):\n    return f(x)\nuse(f(1))",
        "def f(x):\n    if x:\n        return\n    return x.a()\nuse(f(1))",
        "x, y = pair\nuse(x)",
        "use(unknown)",
    ],
)
def test_a_way_that_is_not_known_leaves_nothing(script: str) -> None:
    assert outcomes(*used(script)) == ()


def test_a_class_made_from_it_can_have_another_method() -> None:
    script = """
        class A:
            def head(self):
                return a()
            def forward(self):
                use(self.head())
        class B(A):
            def head(self):
                return b()
    """
    source, node = used(script)
    assert [ast.unparse(one) for one in outcomes(source, node)] == ["self.head()"]


def test_the_class_of_an_object() -> None:
    script = MODEL.format(body="return x", line="use(model)")
    found = own_class_of(*used(script))
    assert found is not None
    assert found.name == "Net"


def test_a_class_is_no_object_of_itself() -> None:
    script = """
        import torch.nn as nn
        class Net(nn.Module):
            def forward(self, x):
                return x, x
            @classmethod
            def made(cls):
                net = cls()
                use(net)
    """
    source, node = used(script)
    assert [ast.unparse(one) for one in outcomes(source, node)] == ["cls()"]
