"""Whether a tensor is a leaf that wants a gradient."""

from collections.abc import Sequence
from types import FrameType
from typing import Any

from surefit.observe.inside.autopsy.questions import Said, value_in
from surefit.observe.inside.autopsy.values import is_tensor


def answer(frames: Sequence[FrameType], about: dict[str, Any]) -> Said:
    value = value_in(frames, about)
    if not is_tensor(value):
        return None
    return {"leaf": bool(value.is_leaf and value.requires_grad)}
