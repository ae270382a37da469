"""Progress in a notebook: one output for all bars of a cell, that is written again."""

import time
from typing import Any

from surefit.source.kernel import kernel

from .html import bar_html

SECONDS = 0.2
"""Between two updates: each is a message to a browser."""

_outputs: dict[int, Any] = {}
"""By the cell: what updates its output."""


class NotebookBar:
    """The part of one bar in the output of its cell."""

    def __init__(self) -> None:
        self.latest: tuple[str, int, int | None, str] | None = None
        self.shown: tuple[str, int, int | None, str] | None = None
        self.at = 0.0

    def show(self, description: str, done: int, total: int | None, values: str) -> None:
        self.latest = description, done, total, values
        if time.monotonic() - self.at >= SECONDS or done == total:
            self.draw()

    def draw(self) -> None:
        if self.latest is None or self.latest == self.shown:
            return
        description, done, total, values = self.shown = self.latest
        self.at = time.monotonic()
        of = f"/{total}" if total is not None else ""
        shown = {
            "text/html": bar_html(description, done, total, values),
            "text/plain": f"{description}  {done}{of}  {values}".rstrip(),
        }
        number = getattr(kernel(), "execution_count", 0)
        if number in _outputs:
            _outputs[number].update(shown, raw=True)
            return
        from IPython.display import display

        _outputs.clear()
        _outputs[number] = display(shown, raw=True, display_id=True)  # type: ignore[no-untyped-call]

    def end(self) -> None:
        """What was counted last is seen, also where it came too soon after the one before."""
        self.draw()
