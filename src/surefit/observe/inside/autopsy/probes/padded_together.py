"""Whether tensors or arrays of a list, padded to one width and joined, are in it as they were."""

import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

from surefit.observe.inside.autopsy.questions import Said, value_in
from surefit.observe.inside.autopsy.values import is_tensor


def answer(frames: Sequence[FrameType], about: dict[str, Any]) -> Said:
    value = value_in(frames, about)
    if type(value) not in (list, tuple) or not value:
        return None
    torch = sys.modules.get("torch")
    numpy = sys.modules["numpy"]
    parts = [one.detach().float().cpu().numpy() if is_tensor(one) else one for one in value]
    axis, along, fill = int(about["axis"]), int(about["along"]), about["fill"]
    widest = max(one.shape[axis] for one in parts)
    joined = numpy.concatenate([wider(numpy, one, axis, widest, fill) for one in parts], axis=along)
    equal, begin = torch is not None or not is_tensor(value[0]), 0
    for one in parts:
        where = [slice(None)] * one.ndim
        where[along] = slice(begin, begin + one.shape[along])
        where[axis] = slice(0, one.shape[axis])
        equal = equal and bool(numpy.array_equal(joined[tuple(where)], one))
        begin += one.shape[along]
    return {
        "equal": equal,
        "elements": sum(int(one.size) for one in parts),
        "shape": [int(size) for size in joined.shape],
    }


def wider(numpy: Any, one: Any, axis: int, size: int, fill: Any) -> Any:
    widths = [(0, size - one.shape[axis]) if at == axis else (0, 0) for at in range(one.ndim)]
    return numpy.pad(one, widths, constant_values=fill)
