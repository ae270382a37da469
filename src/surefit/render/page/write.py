"""Pages put into files."""

from collections.abc import Sequence
from pathlib import Path

from surefit.doctor.findings import COMMAND_LINE, Fix
from surefit.doctor.rule import refusal
from surefit.errors import WrongCall
from surefit.writing import put, writing

from .comparison import page_of_runs
from .contents import ComparisonPage, RunPage
from .html import MARK, as_html
from .left_behind import PAGE, LeftBehind
from .of_run import page_of_run

COMPARISON = "comparison.html"
HEAD = 200
"""Bytes at the beginning of a file in which surefit looks for its mark."""

NOT_A_PAGE = refusal("SF097", "not-a-page", "The file that a page goes to holds something else.")


def write_run_page(run: LeftBehind, file: Path | None = None) -> Path:
    """By default into its own folder."""
    return write_page(page_of_run(run), file or run.path / PAGE)


def write_comparison(runs: Sequence[LeftBehind], file: Path) -> Path:
    return write_page(page_of_runs(runs), file)


def write_page(page: RunPage | ComparisonPage, file: Path) -> Path:
    """Refuses to replace what is no page of surefit."""
    refuse_other_file(file)
    with writing(file):
        put(file, as_html(page).encode("utf-8"))
    return file


def refuse_other_file(file: Path) -> None:
    if file.is_dir():
        said = f"`{file}` is a folder; a page is a file."
    elif not file.parent.is_dir():
        said = f"`{file}` is in a folder that does not exist."
    elif file.exists() and file.stat().st_size and not is_page(file):
        said = f"`{file}` exists and is not a surefit page; it was not changed."
    else:
        return
    raise WrongCall(NOT_A_PAGE.finding(COMMAND_LINE, said, fixes=(Fix("Name another file."),)))


def is_page(file: Path) -> bool:
    with file.open("rb") as opened:
        return MARK.encode() in opened.read(HEAD)
