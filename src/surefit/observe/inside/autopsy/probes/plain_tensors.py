"""Tensors that the module of a frame holds as plain attributes, and what its parameters are on."""

from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any

from surefit.observe.inside.autopsy.layers import walk
from surefit.observe.inside.autopsy.questions import Said
from surefit.observe.inside.autopsy.values import attributes, describe, is_module, is_tensor


def answer(frames: Sequence[FrameType], about: dict[str, Any]) -> Said:
    frame = frames[int(about["frame"])]
    code = frame.f_code
    module = frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None
    if not is_module(module):
        return None
    plain = [
        describe(one, name) for name, one in list(attributes(module).items()) if is_tensor(one)
    ]
    held = [describe(one, "parameter") for one in registered(module)]
    return {
        "plain": [
            {
                "name": one.text,
                "shape": list(one.shape or ()),
                "dtype": one.dtype,
                "device": one.device,
                "learned": one.requires_grad is True,
            }
            for one in plain
        ],
        "devices": sorted({one.device or "" for one in held}),
        "dtypes": sorted({one.dtype or "" for one in held}),
    }


def registered(module: Any) -> Iterator[Any]:
    for _, inside in walk(module):
        for one in list(attributes(inside).get("_parameters", {}).values()):
            if one is not None:
                yield one
