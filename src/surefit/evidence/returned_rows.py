"""What a dataset of the user's returns for one column of its rows."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import Script
from surefit.doctor.recording import Recording
from surefit.evidence.stray_names import Named
from surefit.source.reading import Source


@dataclass(frozen=True, slots=True)
class Returned:
    """An expression in the `return` of a `__getitem__`."""

    source: Source
    node: ast.expr

    @property
    def place(self) -> Place:
        return Place(self.source.file, self.node.lineno)


def returned_for(seen: Recording, named: Named) -> Returned | None:
    """By the key or the position that the loop reads the column under; None unless just one
    `return` of one `__getitem__` in the user's files has such a part."""
    column = column_of(seen, named)
    if column is None:
        return None
    found = [one for script in seen.all(Script) for one in parts(seen, script.file, column)]
    return found[0] if len(found) == 1 else None


def column_of(seen: Recording, named: Named) -> str | int | None:
    """`batch["x"]` is column x; `for x, y in loader` makes x the first."""
    node = ast.parse(named.text, mode="eval").body
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        key = node.slice.value
        return key if isinstance(key, str | int) else None
    source = seen.source(named.frame.place)
    statement = source.statement_at(named.frame.place.line or 0) if source else None
    if source is None or statement is None or not isinstance(node, ast.Name):
        return None
    for target in targets_around(source, statement):
        names = [one.id if isinstance(one, ast.Name) else "" for one in target.elts]
        if node.id in names:
            return names.index(node.id)
    return None


def targets_around(source: Source, statement: ast.stmt) -> Iterator[ast.Tuple]:
    """What loops around a statement, and assignments in them, unpack rows into."""
    for outer in source.up(statement):
        if isinstance(outer, ast.For):
            for node in ast.walk(outer):
                if isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Store):
                    yield node


def parts(seen: Recording, file: str, column: str | int) -> Iterator[Returned]:
    source = seen.source(file)
    for function in source.every(ast.FunctionDef) if source else ():
        if function.name != "__getitem__" or source is None:
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Return) and node.value is not None:
                part = part_of(node.value, column)
                if part is not None:
                    yield Returned(source, part)


def part_of(value: ast.expr, column: str | int) -> ast.expr | None:
    if isinstance(value, ast.Tuple) and isinstance(column, int):
        return value.elts[column] if column < len(value.elts) else None
    if isinstance(value, ast.Dict):
        for key, one in zip(value.keys, value.values, strict=True):
            if isinstance(key, ast.Constant) and key.value == column:
                return one
    return None
