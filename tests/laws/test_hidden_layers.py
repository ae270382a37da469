"""Lists and dicts of layers are found with what would register them."""

from textwrap import dedent

import pytest

from surefit.doctor.findings import Place
from surefit.laws.layers.hidden_layers import Hidden, hidden_at, hidden_in
from surefit.source.reading import Source


def net(body: str, before: str = "") -> Source:
    head = f"import torch\nfrom torch import nn\n{before}\n"
    lines = "\n".join(f"        {line}" for line in dedent(body).strip().splitlines())
    return Source(
        "net.py", f"{head}class Net(nn.Module):\n    def __init__(self, blocks):\n{lines}\n"
    )


def only(source: Source) -> Hidden:
    (found,) = hidden_in(source)
    return found


@pytest.mark.parametrize(
    ("body", "name", "container", "wrapped"),
    [
        (
            "self.a = [nn.Linear(1, 1), nn.ReLU()]",
            "self.a",
            "ModuleList",
            "[nn.Linear(1, 1), nn.ReLU()]",
        ),
        (
            "self.a = {k: torch.nn.GRU(1, 1) for k in 'ab'}",
            "self.a",
            "ModuleDict",
            "{k: torch.nn.GRU(1, 1) for k in 'ab'}",
        ),
        (
            "self.w = [nn.Parameter(torch.ones(1))]",
            "self.w",
            "ParameterList",
            "[nn.Parameter(torch.ones(1))]",
        ),
        (
            "self.a = []\nfor n in blocks:\n    self.a.append(nn.Linear(n, n))",
            "self.a",
            "ModuleList",
            "[]",
        ),
        ("self.a = {}\nself.a['x'] = nn.Linear(1, 1)", "self.a", "ModuleDict", "{}"),
        ("kept = []\nkept.append(nn.Linear(1, 1))\nself.a = kept", "self.a", "ModuleList", "kept"),
    ],
)
def test_each_way_to_hide_layers(body: str, name: str, container: str, wrapped: str) -> None:
    source = net(body)
    found = only(source)
    assert (found.name, found.container) == (name, container)
    assert source.segment(found.value) == wrapped


@pytest.mark.parametrize(
    "body",
    [
        "self.a = nn.ModuleList([nn.Linear(1, 1)])",
        "self.sizes = [1, 2, 3]",
        "self.teacher = [blocks]",
        "kept = [nn.Linear(1, 1)]\nself.a = nn.Sequential(*kept)",
        "kept = [nn.Linear(1, 1)]\nself.a = kept\nself.b = nn.ModuleList(kept)",
        "self.a = [nn.Linear(1, 1)]\nsetattr(self, 'one', self.a[0])",
        "self.f = [nn.functional.relu, torch.tanh]",
    ],
)
def test_what_hides_nothing(body: str) -> None:
    assert list(hidden_in(net(body))) == []


def test_a_class_that_gives_its_own_parameters_is_left_alone() -> None:
    source = net("self.a = [nn.Linear(1, 1)]")
    own = "    def parameters(self):\n        return self.a[0].parameters()\n"
    assert list(hidden_in(source)) != []
    assert list(hidden_in(Source("net.py", source.text + own))) == []


def test_a_line_inside_the_layers_own_class_leads_to_the_list() -> None:
    block = (
        "class Block(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.fc = nn.Linear(4, 4)\n"
    )
    source = net("self.a = [Block() for _ in range(3)]\nself.b = nn.Linear(4, 4)", block)
    found = hidden_at(source, Place("net.py", 6))
    assert found is not None
    assert found.name == "self.a"
    listed, plain = Place("net.py", 10), Place("net.py", 11)
    assert hidden_at(source, listed) is not None
    assert hidden_at(source, plain) is None
