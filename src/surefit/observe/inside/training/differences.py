"""Differences near the end of a loss's graph, by the shapes that the graph itself knows."""

from collections.abc import Iterator
from typing import Any

from surefit.doctor.observations import DifferenceSeen

MOST_NODES = 60
SUBTRACTS = ("SubBackward0", "RsubBackward1")


def differences_in(loss: Any) -> Iterator[DifferenceSeen]:
    """Of the nodes nearest to a loss; nothing is computed."""
    waiting = [loss] if loss is not None else []
    met: set[Any] = set()
    while waiting and len(met) < MOST_NODES:
        node = waiting.pop(0)
        if node in met:
            continue
        met.add(node)
        before = [one for one, _ in node.next_functions if one is not None]
        if node.name() in SUBTRACTS and before:
            yield DifferenceSeen(shape_of(node), shape_of(before[0]))
        waiting += before


def shape_of(node: Any) -> tuple[int, ...]:
    """Of what a node gives back; older versions of torch do not say it."""
    known = getattr(node, "_input_metadata", ())
    return tuple(int(size) for size in known[0].shape) if known else ()
