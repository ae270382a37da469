"""What stands beside a progress bar on a terminal."""

from datetime import timedelta

from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, Task, TextColumn
from rich.table import Column
from rich.text import Text

ROOM_FOR_SPEED, ROOM_FOR_ALL = 80, 100
"""Columns of a terminal from which on speed, and the time so far, have a place, too."""


class Speed(ProgressColumn):
    """Steps per second, or seconds per step where that is more than one."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        if not speed:
            return Text("")
        if speed < 1:
            return Text(f"{1 / speed:.1f} s each", style="dim", no_wrap=True)
        return Text(f"{speed:.1f}/s" if speed < 100 else f"{speed:.0f}/s", style="dim")


class SoFar(ProgressColumn):
    """The time since the beginning, while it goes on."""

    def render(self, task: Task) -> Text:
        return Text("" if task.finished else clock(task.elapsed), style="progress.elapsed")


class Left(ProgressColumn):
    """The time left; of what is finished, the time that it took."""

    max_refresh = 0.5

    def render(self, task: Task) -> Text:
        if task.finished:
            return Text(clock(task.finished_time), style="progress.elapsed", no_wrap=True)
        if task.total is None:
            return Text("")
        left = clock(task.time_remaining)
        return Text.assemble((left, "progress.remaining"), (" left", "dim"), no_wrap=True)


def clock(seconds: float | None) -> str:
    """`3:07`, and `1:02:03` from an hour on."""
    if seconds is None:
        return "-:--"
    whole = str(timedelta(seconds=int(seconds)))
    return whole.removeprefix("0:").removeprefix("0") if whole.startswith("0:") else whole


def columns(width: int) -> tuple[ProgressColumn, ...]:
    """Numbers stay whole on a terminal of this width: the bar shrinks, then less is said."""
    more: tuple[ProgressColumn, ...] = (SoFar(),) if width >= ROOM_FOR_ALL else ()
    speed: tuple[ProgressColumn, ...] = (Speed(),) if width >= ROOM_FOR_SPEED else ()
    return (
        TextColumn("{task.description}", markup=False),
        MofNCompleteColumn(),
        BarColumn(bar_width=None, table_column=Column(ratio=1, min_width=1)),
        *more,
        Left(),
        *speed,
        TextColumn("{task.fields[fields]}", markup=False),
    )
