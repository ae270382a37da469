"""A notebook of the user's as it lies on the disk, and what an edit of its script makes of it."""

from dataclasses import dataclass
from pathlib import Path

from surefit.proof.own_file import OwnFile, Patched
from surefit.source.notebooks import Notebook, is_notebook, read_notebook
from surefit.source.patches import Edit, as_diff


@dataclass(frozen=True, slots=True)
class OwnNotebook:
    """To be used as an `OwnFile` is: its text is the script that its cells make."""

    notebook: Notebook

    @property
    def text(self) -> str:
        return self.notebook.text

    def patched(self, edit: Edit) -> Patched:
        content = self.notebook.after(edit)
        return Patched(content, read_notebook(content).text)

    def as_diff(self, edit: Edit) -> str:
        """Against the JSON; `ValueError` where the edit changes nothing, leaves no Python, or spans
        two cells."""
        as_diff(edit, self.text)
        return self.notebook.as_diff(edit)


def read_own(path: Path) -> OwnFile | OwnNotebook:
    if is_notebook(path):
        return OwnNotebook(read_notebook(path.read_bytes()))
    return OwnFile.read(path)
