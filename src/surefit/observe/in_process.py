"""This very process, observed from now on: the same events and measures as in a child's run.

What was created before is known without the line that created it. Under `surefit run` the run is
observed already, and nothing is done here.
"""

import os
import shutil
import sys
import tempfile
from importlib import import_module
from pathlib import Path

from surefit.doctor.observations import Observation, Script
from surefit.doctor.recording import Recording, read
from surefit.observe.inside import after_import, finishing, own_code, spool
from surefit.source.kernel import cells

PARTS = ("origins", "epochs", "training.steps", "measuring")
"""Of the observer: those that look at training. What needs the program from its first line, as the
autopsy of a crash does, is left out."""

_installed = False


class InProcess:
    """Observations from `begin` to `end`. One at a time in a process."""

    def __init__(self) -> None:
        self.folder: Path | None = None

    @property
    def is_watching(self) -> bool:
        return self.folder is not None

    def begin(self) -> None:
        """Nothing where this process is observed already, by `surefit run` or another watch."""
        if spool.folder() is not None:
            return
        self.folder = Path(tempfile.mkdtemp(prefix="surefit-watch-"))
        os.environ[spool.FOLDER] = str(self.folder)
        install()
        finishing.forget()

    def recording(self) -> Recording:
        """All that was seen so far."""
        if self.folder is None:
            return Recording([])
        finishing.write_all()
        lines = [
            line
            for file in sorted(self.folder.glob("*.jsonl"))
            for line in file.read_text(encoding="utf-8").splitlines()
        ]
        seen = read(lines, Path.cwd())
        return Recording([*_scripts(), *seen.observations])

    def end(self) -> Recording:
        recording = self.recording()
        if self.folder is not None:
            os.environ.pop(spool.FOLDER, None)
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder = None
        return recording


def install() -> None:
    """Once in a process: patches stay, and write nothing while no watch is on."""
    global _installed
    if _installed:
        return
    _installed = True
    sys.meta_path.insert(0, after_import.Watcher())
    for name in PARTS:
        part = import_module(f"surefit.observe.inside.{name}")
        getattr(part, "install", lambda: None)()
    after_import.catch_up()


def _scripts() -> list[Observation]:
    """Files of the user's own code that are loaded, and cells of a notebook that were run."""
    found: list[Observation] = [Script(cell.file, cell.text, True) for cell in cells()]
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if type(file) is not str or not file.endswith(".py") or not own_code.is_own(file):
            continue
        path = Path(os.path.abspath(file))
        if not path.is_relative_to(Path.cwd()):
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        found.append(Script(str(path.relative_to(Path.cwd())), text, name == "__main__"))
    return found
