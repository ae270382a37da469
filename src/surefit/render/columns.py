"""What stands beside a progress bar on a terminal."""

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Column
from rich.text import Text


class Speed(ProgressColumn):
    """Steps per second, or seconds per step where that is more than one."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        if not speed:
            return Text("")
        if speed < 1:
            return Text(f"{1 / speed:.1f} s each", style="dim")
        return Text(f"{speed:.1f}/s" if speed < 100 else f"{speed:.0f}/s", style="dim")


def columns() -> tuple[ProgressColumn, ...]:
    return (
        TextColumn("{task.description}", markup=False),
        MofNCompleteColumn(),
        BarColumn(bar_width=None, table_column=Column(ratio=1, min_width=4)),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("left", style="dim"),
        Speed(),
        TextColumn("{task.fields[fields]}", markup=False),
    )
