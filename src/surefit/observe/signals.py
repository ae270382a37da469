"""Signals that the parent of a script gets: the script decides what they mean."""

import os
import signal
from contextlib import suppress
from types import FrameType
from typing import Any

from surefit.observe.child import Child

PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class PassedOn:
    """While this is entered, signals go to the child; the parent waits for what it does."""

    def __init__(self, child: Child) -> None:
        self.child = child
        self.handlers: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "PassedOn":
        with suppress(ValueError):  # not in the main thread: signals are somebody else's
            for number in PASSED_ON:
                self.handlers[number] = signal.signal(number, self.to_child)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self.handlers.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)

    def to_child(self, number: int, _frame: FrameType | None) -> None:
        if self.child.poll() is None and not reaches_all(number):
            self.child.send_signal(number)


def reaches_all(number: int) -> bool:
    """The child got it too: Ctrl-C goes to all in the terminal's foreground, and launchers of
    ranks signal whole groups."""
    if "TORCHELASTIC_RUN_ID" in os.environ:
        return True
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return number == signal.SIGINT and os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
