"""One more entry in the dict that `torch.save` is given."""

import ast
from dataclasses import dataclass

from surefit.doctor.conditions.condition import Condition
from surefit.doctor.findings import Place
from surefit.laws.case import Case
from surefit.laws.values.subscripts import Asked
from surefit.source.edits import appended
from surefit.source.patches import Edit
from surefit.source.reading import Function, Source, called


@dataclass(frozen=True, slots=True)
class SavedDict:
    """The dict that a call of `torch.save` is given."""

    source: Source
    display: ast.Dict

    @property
    def place(self) -> Place:
        return Place(self.source.file, self.display.lineno, self.display.end_lineno)


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveEntry:
    """`"schedule": schedule.state_dict()`, where what is read is known where it is saved."""

    asked: Asked
    """Where the entry is read."""
    key: str
    saved: SavedDict
    must: Condition | None = None
    choice: bool = False

    @property
    def words(self) -> str:
        return (
            f'Save it with the others: `"{self.key}": {self.value or "..."}`. Files that are'
            " written already do not hold it."
        )

    @property
    def value(self) -> str:
        """Of `x.load_state_dict(checkpoint[key])`: `x.state_dict()`."""
        source, reader = self.asked.source, None
        outer = source.parents.get(self.asked.node)
        text = ""
        if isinstance(outer, ast.Call) and called(outer) == "load_state_dict":
            reader = outer.func.value if isinstance(outer.func, ast.Attribute) else None
            text = f"{source.segment(reader)}.state_dict()" if reader is not None else ""
        elif isinstance(outer, ast.Assign) and isinstance(outer.targets[0], ast.Attribute):
            reader, text = outer.targets[0], source.segment(outer.targets[0])
        return text if reader is not None and self.is_known(reader) else ""

    def is_known(self, reader: ast.expr) -> bool:
        """The name stands for the same object where the checkpoint is written."""
        source = self.saved.source
        root = next((node for node in ast.walk(reader) if isinstance(node, ast.Name)), None)
        if root is None or source is not self.asked.source:
            return False
        if root.id == "self":
            owner = class_of(source, reader)
            return owner is not None and owner is class_of(source, self.saved.display)
        function = source.scope_of(self.saved.display)
        if source.scope_of(self.asked.node) is function:
            return True
        if not isinstance(function, Function):
            return False
        return root.id in {known.arg for known in (*function.args.args, *function.args.kwonlyargs)}

    def edit(self, case: Case) -> Edit | None:  # noqa: ARG002 - as every remedy
        """After the last entry; on a line of its own, where the last one has one."""
        source, display = self.saved.source, self.saved.display
        if not self.value:
            return None
        last = display.keys[-1]
        lines = {key.lineno for key in display.keys if key}
        before = " "
        if last is not None and len(lines) == len(display.keys) and display.lineno not in lines:
            line = source.lines[last.lineno - 1]
            before = f"{source.newline}{line[: len(line) - len(line.lstrip())]}"
        return appended(source, display.values[-1], f',{before}"{self.key}": {self.value}')


def class_of(source: Source, node: ast.AST) -> ast.AST | None:
    return source.class_around(node)
