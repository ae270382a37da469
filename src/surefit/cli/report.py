"""`surefit report`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from surefit.doctor.findings import COMMAND_LINE, Fix
from surefit.doctor.rule import refusal
from surefit.errors import WrongCall
from surefit.render.page.html import check_parts
from surefit.render.page.left_behind import LeftBehind, read_run_folder
from surefit.render.page.serving import serve
from surefit.render.page.write import COMPARISON, write_comparison, write_run_page

NO_RUN_NAMED = refusal("SF098", "no-run-named", "A report was asked for without a run.")


@dataclass(frozen=True, kw_only=True)
class PageOptions:
    """Where a page goes."""

    out: Path | None = None
    """The file to write. By default the page of one run is `report.html` in its folder, and that of
    several is `comparison.html` in the folder that holds the first."""

    serve: bool = False
    """Show the page at an address of this machine that no other machine can reach, and follow runs
    that are not done. Ctrl-C ends it."""

    port: int = 0
    """The port of that address; 0 takes a free one."""

    open: bool = False
    """Open the page in a browser."""


DEFAULTS = PageOptions()


def report(*runs: Path, settings: Annotated[PageOptions, Parameter(name="*")] = DEFAULTS) -> None:
    """Write the page of a run, or of several runs beside each other.

    surefit report runs/sft-1                 writes runs/sft-1/report.html
    surefit report runs/sft-1 runs/sft-2      compares: writes runs/comparison.html
    surefit report --serve runs/sft-3         follows a run while it trains

    A page is one file that opens from the disk and needs no network: the verdict, curves, rows
    as the model sees them, predictions before and after, findings, settings, versions. Of
    several runs it shows which settings differ, curves over each other, and predictions side
    by side.

    Parameters
    ----------
    runs
        Run folders of `surefit sft`, `pretrain` or `distill`.
    """
    folders = named_runs(runs)
    check_parts()
    if settings.serve:
        serve([folder.path for folder in folders], settings.port, settings.open)
        return
    file = written(folders, settings.out)
    from surefit.render.console import say

    say(str(file))
    if settings.open:
        import webbrowser

        webbrowser.open(file.resolve().as_uri())


def named_runs(runs: Sequence[Path]) -> list[LeftBehind]:
    """Each once, in the order of the call."""
    if not runs:
        raise WrongCall(
            NO_RUN_NAMED.finding(
                COMMAND_LINE,
                "`surefit report` was given no run.",
                fixes=(Fix("Name a run folder:  surefit report runs/sft-1"),),
            )
        )
    by_place = {folder.resolve(): folder for folder in reversed(runs)}
    return [read_run_folder(folder) for folder in reversed(by_place.values())]


def written(runs: Sequence[LeftBehind], out: Path | None) -> Path:
    if len(runs) > 1:
        return write_comparison(runs, out or runs[0].path.resolve().parent / COMPARISON)
    return write_run_page(runs[0], out)
