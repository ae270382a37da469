"""Which tensors of a mapping that is to be saved lie in the same memory."""

from collections.abc import Sequence
from types import FrameType
from typing import Any

from surefit.observe.inside.autopsy.questions import Said
from surefit.observe.inside.autopsy.values import is_tensor, mapping


def answer(frames: Sequence[FrameType], about: dict[str, Any]) -> Said:  # noqa: ARG001
    tensors = mapping(frames[-1].f_locals.get("tensors")) or {}
    groups: dict[int, list[str]] = {}
    for name, tensor in tensors.items():
        if is_tensor(tensor) and tensor.numel():
            groups.setdefault(tensor.untyped_storage().data_ptr(), []).append(str(name))
    return {"groups": [names for names in groups.values() if len(names) > 1]}
