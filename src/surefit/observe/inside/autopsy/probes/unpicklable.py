"""What of a loader cannot be sent to a process that begins anew: its dataset, or a function."""

import itertools
import os
import pickle
from collections.abc import Iterator, Sequence
from functools import partial
from types import FrameType, FunctionType, MethodType
from typing import Any

from surefit.observe.inside import own_code
from surefit.observe.inside.autopsy.questions import Said
from surefit.observe.inside.autopsy.values import attributes

PARTS = ("collate_fn", "worker_init_fn", "dataset")
Found = dict[str, Any]
DEEPEST = 6
MOST = 8
MOST_MEMBERS = 100


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
    """What a part holds that cannot be sent: a member of a member of it, down to the function or
    the file itself."""
    if value is not None and not _can_be_sent(value):
        for path, leaf in itertools.islice(_leaves(value, "", DEEPEST), MOST):
            yield _described(name, path.removeprefix("."), leaf)


def _leaves(value: Any, path: str, depth: int) -> Iterator[tuple[str, Any]]:
    bad = (
        [(step, member) for step, member in _members(value) if not _can_be_sent(member)]
        if depth
        else []
    )
    if not bad:
        yield path, value
    for step, member in bad:
        yield from _leaves(member, path + step, depth - 1)


def _members(value: Any) -> list[tuple[str, Any]]:
    kind = type(value)
    if kind is FunctionType:
        return []
    if kind is MethodType:
        return [("", value.__self__)]
    if kind is partial:
        given = [(f".args[{at}]", member) for at, member in enumerate(value.args)]
        return [(".func", value.func), *given, *_entries(value.keywords, ".keywords")]
    if kind in (list, tuple):
        return [(f"[{at}]", member) for at, member in enumerate(value[:MOST_MEMBERS])]
    if kind is dict:
        return _entries(value, "")
    return [(f".{key}", member) for key, member in list(attributes(value).items())]


def _entries(held: dict[Any, Any], name: str) -> list[tuple[str, Any]]:
    return [(f"{name}[{key!r}]", member) for key, member in list(held.items())[:MOST_MEMBERS]]


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
