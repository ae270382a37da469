"""Who holds memory, counted by storages, graphs included."""

import sys
import warnings

import torch

from surefit.observe.inside.autopsy import memory
from surefit.observe.inside.autopsy.memory import KEPT


def held_by(name: str) -> int:
    """Bytes that the caller's list of this name answers for."""
    held = {one.holder: one.bytes for one in memory._held([sys._getframe(1)]) if one.what == KEPT}
    return held[name]


def test_a_list_of_losses_answers_for_what_their_graphs_keep() -> None:
    weight = torch.nn.Parameter(torch.ones(64, 64))
    losses = []
    for _ in range(3):
        losses.append((torch.ones(1000, 64) @ weight).tanh().sum())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kept = held_by("losses")
    # Of each: the input and the result of `tanh`, 1000 x 64 numbers, and the loss itself.
    assert kept == 3 * (2 * 1000 * 64 * 4 + 4)
    assert len(losses) == 3


def test_a_graph_that_was_used_keeps_nothing() -> None:
    weight = torch.nn.Parameter(torch.ones(64, 64))
    losses = [(torch.ones(1000, 64) @ weight).tanh().sum()]
    losses[0].backward()
    assert held_by("losses") == 4
