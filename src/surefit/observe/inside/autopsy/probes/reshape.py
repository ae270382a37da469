"""Whether `reshape` to a shape gives what `contiguous().view` gives."""

import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

from surefit.observe.inside.autopsy.questions import Said, value_in
from surefit.observe.inside.autopsy.values import is_tensor


def answer(frames: Sequence[FrameType], about: dict[str, Any]) -> Said:
    value = value_in(frames, about)
    if not is_tensor(value):
        return None
    shape = [int(size) for size in about.get("shape", [-1])]
    one, other = value.reshape(shape), value.contiguous().view(shape)
    return {
        "equal": bool(sys.modules["torch"].equal(one, other)),
        "elements": int(value.numel()),
        "shape": [int(size) for size in one.shape],
    }
