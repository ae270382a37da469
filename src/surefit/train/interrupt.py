"""Ctrl-C and the scheduler's SIGTERM as a wish that the loop grants at its next step."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopAsked(Exception):  # noqa: N818 - it is no error
    """Ends work that can be done again from the start, such as an evaluation."""


@dataclass
class StopWish:
    """Whether the user asked the run to stop; a second Ctrl-C stops it at once."""

    asked: bool = False

    def check(self) -> None:
        if self.asked:
            raise StopAsked


@contextmanager
def stop_when_asked() -> Iterator[StopWish]:
    """Puts the old handlers back at the end; outside the main thread it changes nothing."""
    wish = StopWish()
    if threading.current_thread() is not threading.main_thread():
        yield wish
        return

    def ask(_number: int, _frame: FrameType | None) -> None:
        if wish.asked:
            raise KeyboardInterrupt
        wish.asked = True

    before = {number: signal.signal(number, ask) for number in SIGNALS}
    try:
        yield wish
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
