"""Exceptions that the user's own code swallows with `contextlib.suppress`."""

import contextlib
import os
import sys
from types import CodeType
from typing import Any

from surefit.doctor.findings import Place
from surefit.observe.inside import own_code, spool
from surefit.observe.inside.caught import swallowed
from surefit.observe.inside.unseen import around

CALLER = 3
"""Frames above: who notes it, what stands before `suppress`, and the user's `with`."""

_handlers: dict[tuple[CodeType, int], swallowed.Handler] = {}


def _handler() -> swallowed.Handler | None:
    """Of the `with` that is being entered or left, if it is the user's."""
    frame = sys._getframe(CALLER)
    if not own_code.own(frame.f_code):
        return None
    key = frame.f_code, frame.f_lineno
    if key not in _handlers:
        place = Place(os.path.abspath(frame.f_code.co_filename), frame.f_lineno)
        _handlers[key] = swallowed.add(swallowed.Handler(place, swallowed.Site(place, ())))
    return _handlers[key]


def _enters(_args: tuple[Any, ...], _kwargs: dict[str, Any]) -> bool:
    try:
        handler = _handler()
        if handler is not None:
            swallowed.enter(handler.site)
    except Exception as error:  # noqa: BLE001 - it stands in the user's `with`
        spool.could_not("what `suppress` hides", error)
    return False


def _leaves(args: tuple[Any, ...], _kwargs: dict[str, Any]) -> bool:
    """`suppress`, the exception's class, the exception, its traceback."""
    return args[1] is not None


def _left(args: tuple[Any, ...], taken: Any) -> None:
    try:
        handler = _handler() if taken else None
        if handler is not None:
            swallowed.note(handler, args[2])
    except Exception as error:  # noqa: BLE001 - see above
        spool.could_not("what `suppress` hides", error)


def install() -> None:
    kind: Any = contextlib.suppress
    kind.__enter__ = around(kind.__enter__, _enters)
    kind.__exit__ = around(kind.__exit__, _leaves, _left)
