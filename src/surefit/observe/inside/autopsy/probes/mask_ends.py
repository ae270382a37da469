"""What a mask of (rows, places) holds at both ends of its rows."""

from collections.abc import Sequence
from types import FrameType
from typing import Any

from surefit.observe.inside.autopsy.questions import Said, value_in
from surefit.observe.inside.autopsy.values import is_tensor


def answer(frames: Sequence[FrameType], about: dict[str, Any]) -> Said:
    """Shares of the rows in which the first and the last place is set, and of all places."""
    mask = value_in(frames, about)
    if not is_tensor(mask) or mask.dim() != 2 or not mask.numel():
        return None
    is_set = (mask != 0).float()
    return {
        "first": float(is_set[:, 0].mean()),
        "last": float(is_set[:, -1].mean()),
        "all": float(is_set.mean()),
    }
