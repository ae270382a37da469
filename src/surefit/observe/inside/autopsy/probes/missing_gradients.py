"""Which parameters of the modules in the user's frames have a gradient, and which have none."""

from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any

from surefit.observe.inside import own_code
from surefit.observe.inside.autopsy.questions import Said
from surefit.observe.inside.autopsy.values import attributes, is_module

MOST_TOLD = 40


def answer(frames: Sequence[FrameType], about: dict[str, Any]) -> Said:  # noqa: ARG001
    root = max(modules_in(frames), key=lambda one: len(list(one.parameters())), default=None)
    if root is None:
        return None
    every = list(root.named_parameters())
    return {
        "root": type(root).__name__,
        "present": sum(one.grad is not None for _, one in every),
        "frozen": [name for name, one in every if one.grad is None and not one.requires_grad],
        "unused": [name for name, one in every if one.grad is None and one.requires_grad],
    }


def modules_in(frames: Sequence[FrameType]) -> Iterator[Any]:
    for frame in frames:
        if own_code.own(frame.f_code):
            for value in list(frame.f_locals.values()):
                for one in (value, *list(attributes(value).values())[:MOST_TOLD]):
                    if is_module(one):
                        yield one
