"""Columns of rows: kept, or given another name where they are created or handed over."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.words import code, some, spoken
from surefit.laws.case import Case
from surefit.laws.training.trainers import ROWS
from surefit.remedies.change import Operator
from surefit.source.dictionary_edits import key_renamed
from surefit.source.edits import appended, replaced
from surefit.source.patches import Edit, all_of
from surefit.source.reading import Source, called

FORMATS = ("set_format", "with_format", "select_columns", "set_transform")
"""Methods of a dataset that list columns."""
NAMES = ("rename_column", "add_column")
"""Methods of a dataset whose last argument names a column."""


@dataclass(frozen=True, slots=True)
class Removal:
    """A call that removes a column, and how to keep it."""

    call: ast.Call
    how: str
    words: str
    edit: Edit


def removals(source: Source, column: str) -> Iterator[Removal]:
    """Calls that remove a column, or do not list it among those that are kept."""
    for call in source.every(ast.Call):
        if called(call) in ("set_format", "with_format"):
            columns = source.argument(call, "columns", 1)
            names = listed(columns)
            if names is not None and column not in names and isinstance(columns, ast.List):
                every = [*map(source.segment, columns.elts), f'"{column}"']
                yield Removal(
                    call,
                    f"`{called(call)}` at line {call.lineno} keeps {spoken(map(code, names))} only",
                    f"Name `{column}` among the columns that are kept.",
                    replaced(source, columns, f"[{', '.join(every)}]"),
                )
        gone = source.argument(call, "remove_columns")
        if called(call) == "remove_columns":
            gone = source.argument(call, "column_names", 0)
        names = listed(gone)
        if names and column in names and isinstance(gone, ast.List):
            left = [item for item, name in zip(gone.elts, names, strict=True) if name != column]
            yield Removal(
                call,
                f"`remove_columns` at line {gone.lineno} removes it",
                f"Do not remove `{column}`.",
                replaced(source, gone, f"[{', '.join(map(source.segment, left))}]"),
            )


def listed(node: ast.expr | None) -> list[str] | None:
    """The strings of a list that stands in the source."""
    if not isinstance(node, ast.List | ast.Tuple):
        return None
    names = [item.value for item in node.elts if isinstance(item, ast.Constant)]
    return [str(name) for name in names] if len(names) == len(node.elts) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameWhereCreated(Operator):
    """Other names for columns, in every place that names them; none where code reads one."""

    names: Mapping[str, str]

    @property
    def words(self) -> str:
        columns, are = ("column", "it is") if len(self.names) == 1 else ("columns", "they are")
        return f"Name the {columns} {some(self.names.values())} where {are} created."

    def edit(self, case: Case) -> Edit | None:
        changes: list[Edit | None] = []
        for old, new in self.names.items():
            naming = naming_of(case, old)
            if naming is None or naming.read:
                return None
            changes += (key_renamed(naming.source, key, new) for key in naming.keys)
        return all_of(changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameForTrainer(Operator):
    """`Trainer(train_dataset=rows.rename_columns({...}))`."""

    names: Mapping[str, str]

    @property
    def words(self) -> str:
        return f"Rename before the Trainer gets the rows: {code(self.method[1:])}."

    @property
    def method(self) -> str:
        pairs = ", ".join(f'"{old}": "{new}"' for old, new in self.names.items())
        return f".rename_columns({{{pairs}}})"

    def edit(self, case: Case) -> Edit | None:
        return all_of(appended(source, rows, self.method) for source, rows in rows_of_trainer(case))


def rows_of_trainer(case: Case) -> list[tuple[Source, ast.expr]]:
    """What a Trainer is given as rows, in the first file that has one."""
    for source in case.recording.sources():
        given = [node.value for node in source.every(ast.keyword) if node.arg in ROWS]
        rows = [(source, value) for value in given if not isinstance(value, ast.Constant)]
        if rows:
            return rows
    return []


@dataclass(frozen=True, slots=True)
class Naming:
    """The constants that give a column its name, all at the same time."""

    source: Source
    keys: tuple[ast.Constant, ...]
    read: bool
    """Something else in the file asks for the column by its name."""

    @property
    def place(self) -> Place:
        return Place(self.source.file, self.keys[0].lineno)


def naming_of(case: Case, column: str) -> Naming | None:
    """By a key of a dict that is created, an item that is set, or `rename_column`."""
    for source in case.recording.sources():
        constants = [node for node in source.every(ast.Constant) if node.value == column]
        keys = [node for node in constants if names_a_column(source, node)]
        if not keys:
            continue
        formats = [node for node in constants if is_in_format(source, node)]
        scopes = {source.scope_of(key) for key in keys} - {source.tree}
        others = [node for node in constants if node not in (*keys, *formats)]
        # a function that creates a row of another reads that one, not its own
        read = any(source.scope_of(node) not in scopes for node in others)
        return Naming(source, (*keys, *formats), read)
    return None


def names_a_column(source: Source, node: ast.Constant) -> bool:
    parent = source.parents[node]
    if isinstance(parent, ast.Dict):
        return any(key is node for key in parent.keys)
    if isinstance(parent, ast.Subscript):
        return isinstance(parent.ctx, ast.Store)
    return isinstance(parent, ast.Call) and called(parent) in NAMES and parent.args[-1] is node


def is_in_format(source: Source, node: ast.Constant) -> bool:
    outer = [node for node in source.up(node) if isinstance(node, ast.Call)]
    return any(called(call) in FORMATS for call in outer)
