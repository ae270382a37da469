"""Runs an unmodified script, or a launcher of scripts, as a child, and writes down what happens."""

from collections.abc import Mapping
from contextlib import nullcontext
from typing import IO

from surefit.observe.child import Start
from surefit.observe.held_folders import held_folder
from surefit.observe.launch import Launch as Launch
from surefit.observe.launch import observed_environment as observed_environment
from surefit.observe.launch import program as program
from surefit.observe.launch import python_command as python_command
from surefit.observe.launched import Seat
from surefit.observe.watching import Ask as Ask
from surefit.observe.watching import Limits, OnCrash, OnNews, Watch
from surefit.observe.watching import Watched as Watched


def watch(
    launch: Launch,
    *,
    environment: Mapping[str, str] | None = None,
    quiet: bool = False,
    seconds: float | None = None,
    bytes_: int | None = None,
    hang_after: float | None = None,
    on_crash: OnCrash | None = None,
    seat: Seat | None = None,
    output: IO[bytes] | None = None,
    start: Start | None = None,
    on_news: OnNews | None = None,
) -> Watched:
    """Runs the command to its end; quiet: in a session of its own, and what it prints is dropped,
    or goes to `output`.

    `seat`: the place among ranks that share a spool; whoever reports for all waits for them.
    `start`: another way to start it. `on_news`: shown what was recorded while the run goes on.
    """
    limits = Limits(seconds, bytes_, hang_after)
    with (
        nullcontext(seat.folder) if seat else held_folder() as where,
        Watch(launch, where, limits, quiet, on_crash, seat, output, start, on_news) as watching,
    ):
        watching.start(environment or {})
        stopped = watching.until_it_ends()
        watching.leave_word(stopped)
        return watching.result(stopped)
