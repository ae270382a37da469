"""How many elements of a tensor lie outside of bounds, and the first few of them."""

from collections.abc import Sequence
from types import FrameType
from typing import Any

from surefit.observe.inside.autopsy.questions import Said, value_in
from surefit.observe.inside.autopsy.values import is_tensor


def answer(frames: Sequence[FrameType], about: dict[str, Any]) -> Said:
    value = value_in(frames, about)
    if not is_tensor(value):
        return None
    outside = value[(value < about["least"]) | (value > about["greatest"])]
    first = outside.unique()[:8].tolist()
    return {"outside": int(outside.numel()), "elements": int(value.numel()), "first": first}
