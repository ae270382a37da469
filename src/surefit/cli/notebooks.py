"""Notebooks that a command is given: read before anything is run, or refused."""

from pathlib import Path

from surefit.doctor.cells import Cells
from surefit.doctor.findings import Finding, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput, WrongCall
from surefit.source.notebooks import (
    LARGEST_NOTEBOOK,
    NotANotebook,
    Notebook,
    is_notebook,
    read_notebook,
)
from surefit.user_files import read_plain

NOT_A_NOTEBOOK = refusal("SF021", "not-a-notebook", "A file is not a notebook with Python cells.")
CELL_NOT_PYTHON = refusal("SF022", "cell-not-python", "A cell of a notebook is not Python.")


def cells_in(name: str) -> Cells | None:
    """The notebook that a command is about, under the name that was typed; None for other files."""
    if not is_notebook(name):
        return None
    found = Cells(shown_name(Path(name)), refuse_no_notebook(Path(name)))
    refuse_unparsed(found)
    return found


def refuse_no_notebook(path: Path) -> Notebook:
    try:
        return read_notebook(read_plain(path, LARGEST_NOTEBOOK))
    except (OSError, NotANotebook) as error:
        raise WrongCall(not_a_notebook(str(path), error)) from error


def shown_name(path: Path) -> str:
    """As recordings name it: seen from here, where it lies below."""
    whole, here = path.absolute(), Path.cwd()
    return str(whole.relative_to(here) if whole.is_relative_to(here) else whole)


def not_a_notebook(name: str, error: OSError | NotANotebook) -> Finding:
    why = f"it cannot be read: {error.strerror}" if isinstance(error, OSError) else str(error)
    return NOT_A_NOTEBOOK.finding(Place(name), f"`{name}` cannot be used as a notebook: {why}.")


def refuse_unparsed(cells: Cells) -> None:
    error = why_not_python(cells.notebook)
    if error is not None:
        place = cells.place(Place(cells.file, error.lineno or 1))
        raise BadInput(
            CELL_NOT_PYTHON.finding(place, f"{place} cannot be read as Python: {error.msg}.")
        )


def why_not_python(notebook: Notebook) -> SyntaxError | None:
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(notebook.text, "notebook", "exec", dont_inherit=True)
    except SyntaxError as error:
        return error
    except (ValueError, RecursionError, MemoryError) as error:
        return SyntaxError(str(error) or "it is nested too deeply")
    return None
