"""A function of a library that a script hands over as a collator, and one put in its place."""

import ast
from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import Script
from surefit.doctor.recording import Recording
from surefit.source.edits import replaced
from surefit.source.line_edits import with_function
from surefit.source.patches import Edit, both
from surefit.source.reading import Source

TAKERS = ("collate_fn", "data_collator")


@dataclass(frozen=True, slots=True)
class Handed:
    """`collate_fn=default_data_collator`."""

    source: Source
    call: ast.Call
    name: ast.Name

    @property
    def place(self) -> Place:
        return Place(self.source.file, self.name.lineno)

    def behind(self, function: str, body: str) -> Edit | None:
        """A function of the module in its place, which can call it."""
        if function in self.source.definitions:
            return None
        edit = with_function(self.source, self.call, f"def {function}(rows):\n{body}")
        return both(edit, replaced(self.source, self.name, function)) if edit else None


def handed(seen: Recording, kind: str) -> Handed | None:
    """Where just one call is given it."""
    found = [
        Handed(source, call, one.value)
        for script in seen.all(Script)
        if (source := seen.source(script.file)) is not None
        for call in source.every(ast.Call)
        for one in call.keywords
        if one.arg in TAKERS and isinstance(one.value, ast.Name)
        if source.imported(one.value).rpartition(".")[2] == kind
    ]
    return found[0] if len(found) == 1 else None
