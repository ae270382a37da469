"""Where a value that a gradient should reach left its graph, noted in a second run.

Of every tensor without a graph: the operation that made it, on which lines, whether graphs were
being recorded, and whether anything that it took had one.
"""

import itertools
import math
import os
import sys
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from surefit.doctor.graph_stories import Cut, LostGraph, Stood
from surefit.observe.inside.own_code import is_own

MOST_KEPT = 400_000
MOST_TOLD = 8
CHECKPOINT = "torch/utils/checkpoint.py"
KEEPING = ("requires_grad_", "requires_grad", "retain_grad")
"""What makes a leaf of a tensor is not what it came from."""
TO_NUMBERS = ("item", "tolist", "numpy", "__float__", "__int__", "__array__")


@dataclass(frozen=True, slots=True)
class Lost:
    """An operation whose result has no graph."""

    serial: int
    cut: Cut
    had: bool
    """Something that it took has a graph, or wants a gradient."""
    frozen: int
    """Parameters among what it took that want none."""
    takes: tuple["Lost", ...] = field(default=(), repr=False)


class LostGraphs:
    """Tensors without a graph, known by weak reference."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.known: dict[int, tuple[Any, Lost]] = {}
        self.numbers: list[tuple[Any, Lost]] = []
        """What was read out of tensors that had a graph, and where."""
        self.serials = itertools.count(1)

    def note(self, name: str, ins: Iterable[Any], result: Any, outs: Iterable[Any]) -> None:
        given = list(ins)
        if name in TO_NUMBERS:
            self.left(name, given, result)
            return
        for out in outs:
            without = not out.requires_grad or (out.grad_fn is None and not self.is_parameter(out))
            if without and name not in KEEPING and len(self.known) < MOST_KEPT:
                self.known[id(out)] = weakref.ref(out), self.made(name, given, out)

    def left(self, name: str, given: list[Any], result: Any) -> None:
        """A tensor became plain numbers."""
        tensor = given[0] if given else None
        if tensor is None:
            return
        lost = self.made(name, given, tensor)
        if any(one.had for one in below(lost)):
            self.numbers = [*self.numbers[-63:], (result, lost)]

    def made(self, name: str, given: list[Any], out: Any) -> Lost:
        stack, outside = lines(sys._getframe(3))
        cut = Cut(
            name,
            stack,
            bool(self.torch.is_grad_enabled()),
            bool(self.torch.is_inference_mode_enabled()),
            bool(out.is_floating_point() or out.is_complex()),
            outside,
            int(out.numel()),
        )
        return Lost(
            next(self.serials),
            cut,
            any(one.requires_grad for one in given),
            sum(self.is_parameter(one) and not one.requires_grad for one in given),
            tuple(lost for one in given if (lost := self.of(one)) is not None),
        )

    def is_parameter(self, tensor: Any) -> bool:
        return isinstance(tensor, self.torch.nn.Parameter)

    def of(self, tensor: Any) -> Lost | None:
        alive, lost = self.known.get(id(tensor), (None, None))
        return lost if alive is not None and alive() is tensor else None

    def story(self, root: Any) -> LostGraph | None:
        """The places nearest to a tensor without a graph at which one was lost."""
        lost = self.of(root)
        if lost is None:
            return None
        every = list(below(lost))
        fresh = [one.cut for one in every if not one.takes and not one.had]
        return LostGraph(
            cuts=tuple(one.cut for one in every if one.had)[:MOST_TOLD],
            frozen=sum(one.frozen for one in every),
            fresh=tuple(fresh[:MOST_TOLD]),
            numbers=tuple(one.cut for value, one in self.numbers if is_equal(value, root)),
            operations=len(every),
        )


def is_equal(value: Any, root: Any) -> bool:
    """The number that was read is the one that `backward` was called on."""
    if type(value) is not float or root.numel() != 1:
        return False
    return math.isclose(value, float(root), rel_tol=1e-6)


def below(lost: Lost) -> Iterator[Lost]:
    """Nearest first, each once; behind one that lost a graph nothing more is asked."""
    waiting, met = [lost], {lost.serial}
    for one in waiting:
        yield one
        for taken in () if one.had else one.takes:
            if taken.serial not in met:
                met.add(taken.serial)
                waiting.append(taken)


def lines(frame: FrameType | None) -> tuple[tuple[Stood, ...], tuple[Stood, ...]]:
    """The user's lines on the stack, and those outside of reentrant checkpointing."""
    stack: list[Stood] = []
    inside = 0
    checkpointed = False
    while frame is not None:
        code = frame.f_code
        if code.co_name == "forward" and code.co_filename.replace("\\", "/").endswith(CHECKPOINT):
            checkpointed, inside = True, len(stack)
        elif is_own(code.co_filename):
            stack.append(Stood(os.path.abspath(code.co_filename), frame.f_lineno, code.co_name))
        frame = frame.f_back
    outer = tuple(reversed(stack[inside:])) if checkpointed else ()
    return tuple(reversed(stack)), outer
