"""What a run leaves for its page: where it ran, what it trains on, how it ended; and the page.

environment.json   the command, when and where it began, versions
data.json          lengths, padding, supervised share, rows as the model sees them, fingerprints
findings.json      how the run ended, as `--json` has it: written when it ends, whatever ends it
report.html        the page: written when training begins and when the run ends
"""

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from surefit.doctor.findings import Fact
from surefit.environment import versions
from surefit.errors import SurefitError
from surefit.render.console import say
from surefit.render.json_document import Ended, document
from surefit.render.page.contents import DataShown
from surefit.render.page.left_behind import (
    DATA,
    ENVIRONMENT,
    FINDINGS,
    PAGE,
    LeftBehind,
    RunEnvironment,
)
from surefit.render.page.write import write_run_page
from surefit.writing import put, write_json

from .ranks import Ranks
from .record import RunFolder

INTERRUPTED = 130


def begin_page(folder: RunFolder, data: DataShown, device: str) -> None:
    """To be called by the first process, when the run folder is there and training is to begin."""
    installed = [
        Fact(entry.name, entry.value) for entry in versions() if entry.value != "not installed"
    ]
    write_json(
        folder.path / ENVIRONMENT,
        RunEnvironment.of_this_process(command(), (Fact("device", device), *installed)),
    )
    write_json(folder.path / DATA, data)
    (folder.path / FINDINGS).unlink(missing_ok=True)
    write_page(folder.path)


def command() -> str:
    """As it was typed, but for the folder of the program."""
    return shlex.join([Path(sys.argv[0]).name or "python", *sys.argv[1:]])


@contextmanager
def leaving_page(folder: RunFolder, ranks: Ranks) -> Iterator[None]:
    """However the run ends, its folder says how, and has the page; the first process writes it. Of
    a run that is done already, only what a kill kept it from."""
    try:
        yield
    except SystemExit:  # of another process, which says why
        raise
    except BaseException as error:
        if ranks.is_first:
            end_page(folder, error)
        raise
    if ranks.is_first:
        end_page(folder, None)


def end_page(folder: RunFolder, error: BaseException | None) -> None:
    """Only of a run whose training began in this process, or has ended: what was refused before has
    changed nothing."""
    environment = LeftBehind(folder.path).environment
    began_here = environment is not None and environment.pid == os.getpid()
    is_done = folder.is_done and not folder.extends
    if not (began_here or is_done) or has_page_of_its_end(folder.path):
        return
    try:
        put(folder.path / FINDINGS, ending(folder.recipe, error))
    except OSError as failed:
        say(f"{folder.path / FINDINGS} could not be written: {failed.strerror}")
    if write_page(folder.path):
        say(f"Page: {folder.path / PAGE}")


def has_page_of_its_end(run: Path) -> bool:
    """How it ended is written first, and the page reads it."""
    findings, page = run / FINDINGS, run / PAGE
    if not (findings.exists() and page.exists()):
        return False
    return findings.stat().st_mtime_ns <= page.stat().st_mtime_ns


def ending(recipe: str, error: BaseException | None) -> bytes:
    if isinstance(error, SurefitError):
        return document(recipe, Ended(error.exit_code), error.findings)
    if error is None:
        return document(recipe, Ended(0), ())
    code = INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
    return document(recipe, Ended(code, f"{type(error).__name__}: {error}".rstrip(": ")), ())


def write_page(path: Path) -> bool:
    """Whether it could be written. A run is worth more than its page: what keeps the page from
    being written is only said."""
    try:
        write_run_page(LeftBehind(path))
    except Exception as error:  # noqa: BLE001 - the run goes on, and its files are whole
        say(f"{path / PAGE} could not be written: {type(error).__name__}: {error}")
        return False
    return True
