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

NO_RUN_NAMED = refusal("SF098", "no-run-named", "A report needs a run folder.")


@dataclass(frozen=True, kw_only=True)
class PageOptions:
    """Where the page is written or served."""

    out: Path | None = None
    """The file to write; by default `report.html` in the run folder, or `comparison.html` next to
    the first of several run folders."""

    serve: bool = False
    """Serve the page on the loopback interface and update it while the runs train. Ctrl-C stops
    the server, not the runs."""

    port: int = 0
    """The port to serve on; 0 picks a free port."""

    open: bool = False
    """Open the page in a browser."""


DEFAULTS = PageOptions()


def report(*runs: Path, settings: Annotated[PageOptions, Parameter(name="*")] = DEFAULTS) -> None:
    """Write the HTML page of a run, or compare several runs.

    surefit report runs/sft-1                 writes runs/sft-1/report.html
    surefit report runs/sft-1 runs/sft-2      compares: writes runs/comparison.html
    surefit report --serve runs/sft-3         follows a run while it trains

    A page is one HTML file that needs no network: verdict, findings, curves,
    predictions before and after training, rows as the model sees them, settings and
    versions. A comparison shows the settings that differ, overlaid curves, and
    predictions side by side.

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
                "`surefit report` needs a run folder.",
                fixes=(Fix("Name a run folder:  surefit report runs/sft-1"),),
            )
        )
    by_place = {folder.resolve(): folder for folder in reversed(runs)}
    return [read_run_folder(folder) for folder in reversed(by_place.values())]


def written(runs: Sequence[LeftBehind], out: Path | None) -> Path:
    if len(runs) > 1:
        return write_comparison(runs, out or runs[0].path.resolve().parent / COMPARISON)
    return write_run_page(runs[0], out)
