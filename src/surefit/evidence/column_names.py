"""Where a column of the rows gets its name, and how it can get another."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import Script
from surefit.doctor.recording import Recording
from surefit.source.dictionary_edits import key_renamed
from surefit.source.edits import appended
from surefit.source.patches import Edit, both
from surefit.source.reading import Source, called

LISTS_COLUMNS = ("set_format", "with_format", "select_columns", "set_transform")
RENAMES = ("rename_column", "add_column")


@dataclass(frozen=True, slots=True)
class Named:
    """The constants that give a column its name, all at the same time."""

    source: Source
    keys: tuple[ast.Constant, ...]
    read: bool
    """Something else in the file asks for the column by its name."""

    @property
    def place(self) -> Place:
        return Place(self.source.file, self.keys[0].lineno)

    @property
    def can_be_renamed(self) -> bool:
        return not self.read

    def renamed(self, name: str) -> Edit:
        edit = key_renamed(self.source, self.keys[0], name)
        for key in self.keys[1:]:
            edit = both(edit, key_renamed(self.source, key, name))
        return edit


@dataclass(frozen=True, slots=True)
class HandedOver:
    """The line that gives rows to a Trainer, with the columns renamed there."""

    place: Place
    edit: Edit
    text: str


def naming_of(seen: Recording, column: str) -> Named | None:
    """By a key of a dictionary that is made, an item that is set, or `rename_column`."""
    for script in seen.all(Script):
        source = seen.source(script.file)
        if source is None:
            continue
        keys = [one for one in constants(source, column) if names_a_column(source, one)]
        if not keys:
            continue
        listed = [one for one in constants(source, column) if is_listed(source, one)]
        others = [
            one
            for one in constants(source, column)
            if one not in (*keys, *listed) and not is_beside(source, one, keys)
        ]
        return Named(source, (*keys, *listed), bool(others))
    return None


def is_beside(source: Source, node: ast.Constant, keys: list[ast.Constant]) -> bool:
    """Read in a function that makes a row of another: what it reads is not what it gives back."""
    scopes = {source.scope_of(key) for key in keys} - {source.tree}
    return source.scope_of(node) in scopes


def constants(source: Source, text: str) -> Iterator[ast.Constant]:
    return (one for one in source.every(ast.Constant) if one.value == text)


def names_a_column(source: Source, node: ast.Constant) -> bool:
    parent = source.parents[node]
    if isinstance(parent, ast.Dict):
        return any(key is node for key in parent.keys)
    if isinstance(parent, ast.Subscript):
        return isinstance(parent.ctx, ast.Store)
    return isinstance(parent, ast.Call) and called(parent) in RENAMES and parent.args[-1] is node


def is_listed(source: Source, node: ast.Constant) -> bool:
    """Among the columns that `set_format` is told."""
    return any(
        isinstance(outer, ast.Call) and called(outer) in LISTS_COLUMNS for outer in source.up(node)
    )


def handed_over(seen: Recording, names: dict[str, str]) -> HandedOver | None:
    """`Trainer(train_dataset=rows.rename_columns({...}))`."""
    pairs = ", ".join(f'"{old}": "{new}"' for old, new in names.items())
    new = f".rename_columns({{{pairs}}})"
    for script in seen.all(Script):
        source = seen.source(script.file)
        given = [
            node.value
            for node in (source.every(ast.keyword) if source else ())
            if node.arg in ("train_dataset", "eval_dataset")
            and not (isinstance(node.value, ast.Constant) and node.value.value is None)
        ]
        if source is None or not given:
            continue
        edit = appended(source, given[0], new)
        for one in given[1:]:
            edit = both(edit, appended(source, one, new))
        text = f"Rename it before the Trainer gets the rows: `{new[1:]}`."
        return HandedOver(Place(source.file, given[0].lineno), edit, text)
    return None
