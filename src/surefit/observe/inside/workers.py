"""Exceptions in loaders' workers, pools and child processes: looked into where they are raised.

The main process gets their text alone. What a worker saw is in its own spool file, under an id
that travels with the exception.
"""

import sys
import traceback
from collections.abc import Callable, Sequence
from functools import wraps
from hashlib import sha256
from types import FrameType, ModuleType
from typing import Any

from surefit.observe.inside import spool
from surefit.observe.inside.after_import import after_import
from surefit.observe.inside.autopsy.values import attributes
from surefit.observe.inside.unseen import strip

SEEN_AS = "surefit_crash"
NO_FAULT = (KeyboardInterrupt, SystemExit, GeneratorExit)

CATCHING = {
    "_bootstrap": "/process.py",
    "_wrap": "torch/multiprocessing/spawn.py",
}
"""Functions in which a child process catches what ends it, puts it into words, and ends."""


@after_import("torch._utils")
def loader_workers(module: ModuleType) -> None:
    """The wrapper is pickled, and the id with it."""
    kind = module.ExceptionWrapper
    make = kind.__init__

    @wraps(make)
    def __init__(self: Any, exc_info: Any = None, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        seen = _look(exc_info[1] if exc_info else sys.exception())
        make(self, exc_info, *args, **kwargs)
        if seen is not None:
            self.__dict__[SEEN_AS] = seen

    kind.__init__ = __init__


def pools(module: ModuleType) -> None:
    """The exception and its text are all that arrives: the text gives the id at both ends."""
    name = "ExceptionWithTraceback"
    kind = vars(module).get(name) or vars(module)[f"_{name}"]
    make = kind.__init__

    @wraps(make)
    def __init__(self: Any, exc: BaseException, tb: Any) -> None:  # noqa: N807
        strip(exc)
        text = "".join(traceback.format_exception(type(exc), exc, tb))
        _look(exc, _id_of(f'\n"""\n{text}"""'))
        make(self, exc, tb)

    kind.__init__ = __init__


for _pool in (
    "multiprocessing.pool",
    "multiprocess.pool",
    "concurrent.futures.process",
    "joblib.externals.loky.process_executor",
):
    after_import(_pool)(pools)


def _look(error: BaseException | None, identity: str | None = None) -> str | None:
    from surefit.observe.inside.autopsy import crash

    try:
        if error is None or issubclass(type(error), NO_FAULT):
            return None
        seen = crash.look(error, passed_on=True, identity=identity)
    except Exception as failure:  # noqa: BLE001 - the exception itself must reach the user
        spool.could_not("a worker's crash", failure)
        return None
    return seen.id if seen is not None else None


def _id_of(text: str) -> str:
    return sha256(text.encode(errors="replace")).hexdigest()[:16]


def raised_in(error: BaseException, frames: Sequence[FrameType]) -> str | None:
    """The id under which a worker looked into an exception that only arrives here."""
    for frame in reversed(frames):
        if frame.f_code.co_name == "reraise" and "torch" in frame.f_code.co_filename:
            return attributes(frame.f_locals.get("self")).get(SEEN_AS)
    text = attributes(error.__cause__).get("tb")
    if type(error.__cause__).__name__.endswith("RemoteTraceback") and type(text) is str:
        return _id_of(text)
    return None


def install() -> None:
    """A child process says what ended it by one of these two, and by no hook."""
    traceback.print_exc = _looks_after(traceback.print_exc)
    traceback.format_exc = _looks_after(traceback.format_exc)


def _looks_after(say: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(say)
    def inner(*args: Any, **kwargs: Any) -> Any:
        error = sys.exception()
        strip(error)
        said = say(*args, **kwargs)
        caller = sys._getframe(1).f_code
        file = caller.co_filename.replace("\\", "/")
        if caller.co_name in CATCHING and file.endswith(CATCHING[caller.co_name]):
            _look_and_answer(error)
        return said

    return inner


def _look_and_answer(error: BaseException | None) -> None:
    from surefit.observe.inside.autopsy import crash

    if error is not None and not issubclass(type(error), NO_FAULT):
        crash.look_and_answer(error)
