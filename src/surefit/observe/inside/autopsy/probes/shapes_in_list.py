"""The shapes and dtypes of all tensors or arrays in a list, and the least of their numbers."""

from collections.abc import Sequence
from types import FrameType
from typing import Any

from surefit.observe.inside.autopsy.questions import Said, value_in
from surefit.observe.inside.autopsy.values import describe, is_a, is_tensor

MOST = 20_000


def answer(frames: Sequence[FrameType], about: dict[str, Any]) -> Said:
    value = value_in(frames, about)
    if type(value) not in (list, tuple) or not value or len(value) > MOST:
        return None
    seen = [describe(one, "") for one in value if is_tensor(one) or is_a(one, "numpy", "ndarray")]
    if len(seen) != len(value):
        return None
    least = [one.least for one in seen if one.least is not None]
    return {
        "shapes": [list(one.shape or ()) for one in seen],
        "kinds": sorted({"tensor" if one.device else "array" for one in seen}),
        "dtypes": sorted({one.dtype or "" for one in seen}),
        "least": min(least, default=None),
    }
