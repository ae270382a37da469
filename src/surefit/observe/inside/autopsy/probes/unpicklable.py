"""What of a loader cannot be sent to a process that begins anew: its dataset, or a function."""

import os
import pickle
from collections.abc import Iterator, Sequence
from types import FrameType, FunctionType, MethodType
from typing import Any

from surefit.observe.inside import own_code
from surefit.observe.inside.autopsy.questions import Said
from surefit.observe.inside.autopsy.values import attributes

PARTS = ("collate_fn", "worker_init_fn", "dataset")
Found = dict[str, Any]


def answer(frames: Sequence[FrameType], about: dict[str, Any]) -> Said:  # noqa: ARG001
    loader = _loader(frames)
    if loader is None:
        return None
    inside = attributes(loader)
    return {"parts": [one for name in PARTS for one in _bad(name, inside.get(name))]}


def _loader(frames: Sequence[FrameType]) -> Any:
    for frame in reversed(frames):
        for value in list(frame.f_locals.values()):
            if type(value).__name__ == "DataLoader":
                return value
    return None


def _bad(name: str, value: Any) -> Iterator[Found]:
    if value is None or _can_be_sent(value):
        return
    members = [(key, one) for key, one in attributes(value).items() if not _can_be_sent(one)]
    if not members or type(value) in (FunctionType, MethodType):
        yield _described(name, "", value)
    for key, one in members:
        yield _described(name, str(key), one)


def _can_be_sent(value: Any) -> bool:
    try:
        pickle.dumps(value)
    except Exception:  # noqa: BLE001 - whatever it is, it cannot be sent
        return False
    return True


def _described(part: str, attribute: str, value: Any) -> Found:
    function = value.__func__ if type(value) is MethodType else value
    code = function.__code__ if type(function) is FunctionType else None
    own = code is not None and own_code.own(code)
    return {
        "part": part,
        "attribute": attribute,
        "kind": type(value).__name__,
        "name": str(getattr(value, "__qualname__", type(value).__qualname__)),
        "file": os.path.abspath(code.co_filename) if code and own else "",
        "line": code.co_firstlineno if code and own else 0,
        "needs": list(code.co_freevars) if code and own else [],
    }
