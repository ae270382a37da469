"""What the model's `forward` takes: of the outermost module that was being called or, if none was,
of the largest one that the frames hold."""

import inspect
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any

from surefit.observe.inside import own_code
from surefit.observe.inside.autopsy.questions import Said
from surefit.observe.inside.autopsy.values import attributes, is_module

CALLS = ("_wrapped_call_impl", "_call_impl", "__call__")
Kind = inspect.Parameter


def answer(frames: Sequence[FrameType], about: dict[str, Any]) -> Said:  # noqa: ARG001
    called: list[Any] = [
        this
        for frame in frames
        if frame.f_code.co_name in CALLS and is_module(this := frame.f_locals.get("self"))
    ]
    found = called[:1] or sorted(_held(frames), key=_size, reverse=True)[:1]
    if not found:
        return None
    parameters = [
        one
        for one in inspect.signature(type(found[0]).forward).parameters.values()
        if one.name != "self"
    ]
    named = [one for one in parameters if one.kind not in (Kind.VAR_POSITIONAL, Kind.VAR_KEYWORD)]
    return {
        "kind": type(found[0]).__name__,
        "own": own_code.own_class(type(found[0])),
        "takes": [one.name for one in named],
        "needs": [one.name for one in named if one.default is Kind.empty],
        "open": any(one.kind is Kind.VAR_KEYWORD for one in parameters),
    }


def _held(frames: Sequence[FrameType]) -> Iterator[Any]:
    for frame in frames:
        names = [*frame.f_locals.values()]
        if own_code.own(frame.f_code):
            names += frame.f_globals.values()
        for value in names:
            if is_module(value):
                yield value
            yield from (one for one in attributes(value).values() if is_module(one))


def _size(module: Any) -> int:
    return sum(1 for _ in module.modules())
