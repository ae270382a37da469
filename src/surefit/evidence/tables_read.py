"""Statements of the user's that read a table or make one, and what they call it."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.evidence.arrivals import first_simple
from surefit.source.line_edits import block_of, bound_by
from surefit.source.reading import Source, called, dotted, targets

PANDAS = "pandas"
DATASETS = "datasets"
KEEPS_A_TABLE = (
    "astype",
    "cast_column",
    "copy",
    "drop",
    "drop_duplicates",
    "fillna",
    "filter",
    "head",
    "map",
    "query",
    "rename",
    "rename_column",
    "reset_index",
    "sample",
    "select",
    "shuffle",
    "sort_values",
    "train_test_split",
)
"""Methods of a table that give back a table, or several in a dictionary."""
MAKERS = ("load_dataset", "load_from_disk")


@dataclass(frozen=True, slots=True)
class Reading:
    """A statement that gives a table a name."""

    statement: ast.Assign | ast.AnnAssign
    name: str
    """`frame`, `self.frame`."""
    library: str
    following: Place | None
    """The next statement that always runs and holds no other."""


def readings(source: Source) -> list[Reading]:
    """Those of pandas first."""
    found = [one for call in source.every(ast.Call) for one in named(source, call)]
    once = {one.statement: one for one in found}.values()
    return sorted(once, key=lambda one: (one.library != PANDAS, one.statement.lineno))


def named(source: Source, call: ast.Call) -> Iterator[Reading]:
    """The names that the table of a call gets, also behind a function that returns it."""
    library = library_of(source, call)
    if not library:
        return
    statement = source.statement_of(call)
    value = getattr(statement, "value", None)
    if not isinstance(value, ast.expr) or not is_table(value, call):
        return
    if isinstance(statement, ast.Return):
        scope = source.scope_of(statement)
        name = getattr(scope, "name", "")
        for other in source.every(ast.Call):
            if name and dotted(other.func) in (name, f"self.{name}"):
                outer = source.statement_of(other)
                if getattr(outer, "value", None) is other:
                    yield from given(source, outer, library)
        return
    yield from given(source, statement, library)


def given(source: Source, statement: ast.stmt, library: str) -> Iterator[Reading]:
    if not isinstance(statement, ast.Assign | ast.AnnAssign):
        return
    names = [dotted(target) for target in targets(statement)]
    if len(names) == 1 and names[0]:
        yield Reading(statement, names[0], library, following(source, statement))


def library_of(source: Source, call: ast.Call) -> str:
    full, name = source.imported(call.func), called(call)
    if full.startswith(PANDAS) and (name.startswith("read_") or name == "DataFrame"):
        return PANDAS
    if full.startswith(DATASETS) and (name in MAKERS or name.startswith("from_")):
        return DATASETS
    return ""


def is_table(value: ast.expr, call: ast.Call) -> bool:
    """The value is what the call gives, or what methods that keep a table make of it."""
    while value is not call:
        chained = isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute)
        if not chained or called(value) not in KEEPS_A_TABLE:  # type: ignore[arg-type]
            return False
        value = value.func.value  # type: ignore[attr-defined]
    return True


def following(source: Source, statement: ast.stmt) -> Place | None:
    """Of those behind it that are no definition; none where the name gets another value first."""
    for later in behind(source, statement):
        first = first_simple([later])
        if first and not isinstance(first, ast.Import | ast.ImportFrom | ast.Global | ast.Nonlocal):
            return Place(source.file, first.lineno)
        if bound_by(statement) & bound_by(later):
            return None
    return None


def behind(source: Source, statement: ast.stmt) -> Iterator[ast.stmt]:
    """The statements that follow in its block and, if that is of a `with`, behind that."""
    block = block_of(source, statement)
    yield from block[block.index(statement) + 1 :]
    outer = source.parents[statement]
    if isinstance(outer, ast.With):
        yield from behind(source, outer)


def assigned(source: Source, name: str) -> list[Reading]:
    """Every statement that gives this name a value, whatever it is."""
    found: list[Reading] = []
    for statement in source.every(ast.stmt):
        found += [one for one in given(source, statement, "") if one.name == name]
    return found
