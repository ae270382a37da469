"""Names of tensors in frames: locals, attributes, members, and what only looks like the user's."""

import sys
from types import FrameType

import torch
from torch import nn

from surefit.doctor.graph_stories import HolderSeen
from surefit.observe.inside.autopsy.holders import held_by, held_in


class Cell(nn.Module):
    """Keeps a pair of states, and a list of them."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(2, 2)
        self.state = (torch.zeros(1), torch.ones(1))
        self.past = [torch.ones(2)]
        self.register_buffer("mean", torch.zeros(3))


def here() -> FrameType:
    return sys._getframe(1)


def test_locals_attributes_and_members_have_names() -> None:
    cell, plain = Cell(), {"last": torch.ones(4)}
    names = {holder.text: holder for holder, _ in held_in(here())}
    assert plain
    assert {"cell.state[0]", "cell.state[1]", "cell.past[0]", "cell.mean"} <= set(names)
    assert names["plain['last']"].container == "dict"
    assert names["cell.state[1]"] == HolderSeen(
        "cell.state[1]",
        names["cell.mean"].function,
        __file__,
        "cell.state",
        "tuple",
        "Cell",
        "state",
    )
    assert cell.inner is not None
    assert not any("weight" in text for text in names)


def test_a_circle_has_an_end() -> None:
    first: dict[str, object] = {"tensor": torch.ones(1)}
    first["again"] = first
    texts = [holder.text for holder, _ in held_in(here())]
    assert "first['tensor']" in texts


def test_modules_of_the_user_are_known_by_their_own_names() -> None:
    texts = {holder.text for holder, _ in held_by([Cell(), nn.Linear(2, 2)])}
    assert texts == {"self.state[0]", "self.state[1]", "self.past[0]", "self.mean"}
