"""Whole numbers below zero in an array, a tensor or lists, and what a tokenizer pads with."""

from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any

from surefit.observe.inside.autopsy.expressions import MISSING
from surefit.observe.inside.autopsy.questions import Said, value_in
from surefit.observe.inside.autopsy.values import is_a, is_tensor

MOST = 8
MOST_NUMBERS = 5_000_000


def answer(frames: Sequence[FrameType], about: dict[str, Any]) -> Said:
    value = value_in(frames, about)
    numbers = list(whole_numbers(value))
    if not numbers or len(numbers) > MOST_NUMBERS:
        return None
    below = [one for one in numbers if one < 0]
    tokenizer = value_in(frames, {**about, "text": about["tokenizer"]})
    return {
        "below": len(below),
        "elements": len(numbers),
        "first": sorted(set(below))[:MOST],
        "greatest": max(numbers),
        "kind": kind_of(value),
        "pad": getattr(tokenizer, "pad_token_id", None) if tokenizer is not MISSING else None,
        "eos": getattr(tokenizer, "eos_token_id", None) if tokenizer is not MISSING else None,
    }


def kind_of(value: Any) -> str:
    """`array`, `tensor`, `lists` (of lists) or `list`."""
    if is_tensor(value):
        return "tensor"
    if is_a(value, "numpy", "ndarray"):
        return "array"
    return "lists" if any(type(one) in (list, tuple) for one in value) else "list"


def whole_numbers(value: Any) -> Iterator[int]:
    if is_tensor(value) and not value.is_floating_point():
        yield from value.detach().reshape(-1).tolist()
    elif is_a(value, "numpy", "ndarray") and value.dtype.kind in "iu":
        yield from value.reshape(-1).tolist()
    elif type(value) in (list, tuple):
        for one in value:
            if type(one) is int:
                yield one
            elif type(one) in (list, tuple) or hasattr(one, "dtype"):
                yield from whole_numbers(one)
