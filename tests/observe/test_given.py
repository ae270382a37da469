"""What functions of libraries are given, as a watchpoint without a line asks for it."""

from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from surefit.doctor.findings import Place
from surefit.doctor.observations import Passed, Watchpoint
from surefit.observe.inside import given, spool
from surefit.observe.inside.watchpoints import Watched


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[Passed]:
    """What is written down, in place of the spool."""
    found: list[Passed] = []
    monkeypatch.setattr(spool, "saw", found.append)
    return found


def library() -> ModuleType:
    module = ModuleType("library")
    exec(
        "def look_up(ids, table=None, *, scale=1):\n    return ids\n\n"
        "class Tokenizer:\n    def decode(self, ids):\n        return len(ids)\n",
        vars(module),
    )
    return module


def watched(function: str, *texts: str) -> Watched:
    return Watched(Watchpoint(Place(function), texts), 0, 0)


def test_a_function_of_a_module_and_a_method_of_a_class_are_told_apart() -> None:
    function = "torch.nn.functional.embedding"
    assert given.parted(function) == ("torch.nn.functional", "", "embedding")
    assert given.parted("library.base.Tokenizer.decode") == ("library.base", "Tokenizer", "decode")


def test_arguments_are_noted_however_they_are_given(seen: list[Passed]) -> None:
    module, one = library(), watched("library.look_up", "ids", "table")
    given.patch(one, "", "look_up")(module)
    ids = torch.tensor([4, -1])
    assert module.look_up(ids) is ids
    module.look_up(table=np.ones((3, 2)), ids=[1, 2])
    assert [[value.text for value in passed.values] for passed in seen] == [
        ["ids"],
        ["ids", "table"],
    ]
    first, second = seen
    assert (first.values[0].least, first.values[0].greatest) == (-1, 4)
    assert second.values[1].shape == (3, 2)
    assert all(passed.watched == one.watchpoint for passed in seen)


def test_a_method_is_noted_and_gives_what_it_gave(seen: list[Passed]) -> None:
    module = library()
    given.patch(watched("library.Tokenizer.decode", "ids"), "Tokenizer", "decode")(module)
    assert module.Tokenizer().decode([7, 8]) == 2
    assert (seen[0].values[0].least, seen[0].values[0].greatest) == (7, 8)


def test_a_call_that_is_wrong_fails_as_it_would(seen: list[Passed]) -> None:
    module = library()
    given.patch(watched("library.look_up", "ids"), "", "look_up")(module)
    with pytest.raises(TypeError, match="unexpected keyword argument 'other'"):
        module.look_up([1], other=2)
    assert seen == []


def test_only_so_many_calls_are_noted(seen: list[Passed], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(given, "MOST_TIMES", 2)
    module = library()
    given.patch(watched("library.look_up", "ids"), "", "look_up")(module)
    for number in range(5):
        assert module.look_up([number]) == [number]
    assert [passed.values[0].least for passed in seen] == [0, 1]


@pytest.mark.parametrize(
    ("value", "ends"),
    [
        ([3, [-1, 9]], (-1, 9)),
        ((torch.tensor([2, 5]), np.array([-4])), (-4, 5)),
        (["a", 0.5, None], (None, None)),
        ([], (None, None)),
    ],
)
def test_least_and_greatest_whole_number_of_lists(value: Any, ends: tuple[int | None, ...]) -> None:
    described = given.described(value, "ids")
    assert (described.least, described.greatest) == ends
    assert (described.text, described.kind) == ("ids", type(value).__name__)
