"""One working folder for all processes of a machine."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from surefit.data.working_folder import working_folder

from .first_here import first_here_then_others
from .launch import this_launch


@contextmanager
def shared_working_folder() -> Iterator[Path]:
    """The first process of a machine makes it and takes it away; the others are told where."""
    launch = this_launch()
    notes = launch.notes
    if notes is None:
        with working_folder() as folder:
            yield folder
        return
    if launch.local_rank:
        yield first_here_then_others(Path, lambda: Path((notes.read(0, "work") or {})["path"]))
        return
    with working_folder() as folder:

        def tell() -> Path:
            notes.put(0, "work", {"path": str(folder)})
            return folder

        yield first_here_then_others(tell, tell)
