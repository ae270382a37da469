"""Names that nothing reads, and the call or the target that one of them is meant for."""

import pytest

from surefit.laws.invariants.used_values import receiver
from surefit.laws.losses.td_targets import is_end, td_targets
from surefit.source.reading import Source
from surefit.source.unread import bound_together, unread_names


def unread(text: str) -> list[str]:
    return [name.name for name in unread_names(Source("train.py", text))]


def test_names_that_nothing_reads() -> None:
    assert unread("a, b = f()\nprint(a)\n") == ["b"]
    assert unread("def f(x, done):\n    return x\n") == ["done"]
    assert unread("for i, (x, w) in f():\n    g(x)\n") == ["i", "w"]
    assert unread("a, b = f()\nb = g(b)\nprint(a)\n") == ["b"]
    assert unread("a, b = f()\na, b = g(a), g(b)\nprint(a)\n") == ["b"]


@pytest.mark.parametrize(
    "text",
    [
        "a = f()\ndef g():\n    return a\n",
        "a = f()\nprint(locals())\n",
        "_, _a = f()\n",
        "a = f()\na = g()\n",
        "a, b = f()\na, b = g(b), g(a)\nprint(a)\n",
        "a, b = f()\nb = g(b)\nprint(a, b)\n",
        "a = f()\nprint(f'{a}')\n",
        "class A:\n    a = 1\n",
    ],
)
def test_names_that_can_be_read(text: str) -> None:
    assert unread(text) == []


def test_names_that_came_together() -> None:
    source = Source("train.py", "s, a, r, done = f()\nprint(s, a, r)\n")
    (name,) = unread_names(source)
    assert bound_together(source, name) == {"s", "a", "r"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("y = r + gamma * q(n).max(1).values", True),
        ("y = self.gamma * v + r.float()", True),
        ("y = r + 0.99 * v(n)", True),
        ("y = r + gamma ** 3 * v(n)", True),
        ("y = r + gamma * (1 - d) * q(n)", False),
        ("y = r + (1 - d) * gamma * q(n)", False),
        ("y = x + 0.1 * noise", False),
        ("y = r - gamma * v", False),
    ],
)
def test_targets_that_go_on_past_an_end(text: str, found: bool) -> None:
    source = Source("train.py", text)
    assert bool(list(td_targets(source, source.tree))) is found


def test_names_of_ends() -> None:
    assert all(map(is_end, ("done", "dones", "b_dones", "terminated", "d", "is_terminal")))
    assert not any(map(is_end, ("truncated", "not_done", "reward", "idx", "done_or_truncated")))


@pytest.mark.parametrize(
    ("text", "argument"),
    [
        ("sampler = S(w)\nloader = DataLoader(d)\n", "sampler"),
        ("train_sampler = S(w)\ntrain = DataLoader(d)\ntest = DataLoader(e)\n", "sampler"),
        ("collate = partial(f, 0)\nloader = DataLoader(d)\n", "collate_fn"),
        ("class_weights = torch.tensor([1, 2])\nc = nn.CrossEntropyLoss()\n", "weight"),
        ("pos_weight = f(y)\nc = nn.BCEWithLogitsLoss()\n", "pos_weight"),
        ("class M:\n    def forward(self, x, mask=None):\n        return x * mask\n"
         "m = M()\nfor x, mask in batches:\n    m(x)\n", "mask"),
    ],
)  # fmt: skip
def test_a_call_that_lacks_an_argument(text: str, argument: str) -> None:
    source = Source("train.py", text)
    found = [receiver(source, name) for name in unread_names(source)]
    assert [fitting.argument for fitting in found if fitting] == [argument]


@pytest.mark.parametrize(
    "text",
    [
        "sample_weights = f(y)\nc = nn.CrossEntropyLoss()\n",
        "sampler = 3\nloader = DataLoader(d)\n",
        "sampler = S(w)\nloader = DataLoader(d, batch_sampler=b)\n",
        "sampler = S(w)\nfirst = DataLoader(d)\nsecond = DataLoader(e)\n",
        "val_sampler = S(w)\ntrain = DataLoader(d)\nval = DataLoader(e)\n",
        "weight = f(y)\nc = nn.CrossEntropyLoss(other)\n",
        "class_weights = f(y)\nc = nn.CrossEntropyLoss(**settings)\n",
        "class M:\n    def forward(self, x, mask=None):\n        return x\n"
        "m = M()\nfor x, mask in batches:\n    m(x)\n",
    ],
)
def test_no_call_that_is_certain(text: str) -> None:
    source = Source("train.py", text)
    assert not any(receiver(source, name) for name in unread_names(source))
