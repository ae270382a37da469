"""The end of an observed process, however it leaves: what was counted is written down, once."""

import os
import sys
from collections.abc import Callable
from typing import NoReturn

from surefit.doctor.observations import Death
from surefit.observe.inside import own_code, spool
from surefit.observe.inside.untouched import getpid

_last_words: list[Callable[[], None]] = []
_forgetting: list[Callable[[], None]] = []
_finished_in = 0


def at_end(write: Callable[[], None]) -> Callable[[], None]:
    """Marks what writes its counts when the process ends."""
    _last_words.append(write)
    return write


def after_fork(forget: Callable[[], None]) -> Callable[[], None]:
    """Marks what a forked child must forget of its parent."""
    _forgetting.append(forget)
    return forget


def finish() -> None:
    global _finished_in
    if _finished_in == getpid():
        return
    _finished_in = getpid()
    write_all()


def write_all() -> None:
    """What was counted so far, as at the end."""
    for write in _last_words:
        try:
            write()
        except Exception as error:  # noqa: BLE001 - the others still write
            spool.could_not(write.__module__, error)


def forget() -> None:
    """All that was counted."""
    for forget in _forgetting:
        try:
            forget()
        except Exception as error:  # noqa: BLE001 - see above
            spool.could_not(forget.__module__, error)


def install() -> None:
    """Forked children leave by `os._exit`, where nothing registered at exit runs."""
    plain = os._exit

    def _exit(status: int) -> NoReturn:
        try:
            frame = own_code.own_frame(depth=2)
            caller = sys._getframe(1).f_code
            if frame is not None and frame.f_code is caller:
                place = own_code.place(frame)
                spool.saw(Death(spool.process(), "exit", code=status, place=place))
            finish()
        finally:
            plain(status)

    os._exit = _exit
    os.register_at_fork(after_in_child=forget)


after_fork(spool.forget_parent)
