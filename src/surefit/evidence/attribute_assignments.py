"""Where the source gives an attribute of a class its value."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import Frame, Script
from surefit.doctor.recording import Recording
from surefit.source.reading import Source


@dataclass(frozen=True, slots=True)
class Assignment:
    """`self.mask = ...` in a method."""

    source: Source
    statement: ast.Assign
    target: ast.Attribute

    @property
    def place(self) -> Place:
        return Place(self.source.file, self.statement.lineno, self.statement.end_lineno)


def assignments_of(seen: Recording, frame: Frame, attribute: str) -> list[Assignment]:
    """In the class whose method a frame runs; where that has none, in every class."""
    every = [one for script in seen.all(Script) for one in assigned(seen, script.file, attribute)]
    owner = frame.function.rpartition(".")[0].rpartition(".")[2]
    inside = [one for one in every if owner and class_around(one) == owner]
    return inside or every


def assigned(seen: Recording, file: str, attribute: str) -> Iterator[Assignment]:
    source = seen.source(file)
    for node in source.every(ast.Assign) if source else ():
        for target in node.targets:
            if isinstance(target, ast.Attribute) and target.attr == attribute and source:
                yield Assignment(source, node, target)


def class_around(one: Assignment) -> str:
    classes = (up for up in one.source.up(one.statement) if isinstance(up, ast.ClassDef))
    return next((found.name for found in classes), "")


def reads(seen: Recording, frame: Frame, attribute: str) -> bool:
    """Whether the function that a frame runs reads the attribute of its own object."""
    source = seen.source(frame.place)
    statement = source.statement_at(frame.place.line or 0) if source else None
    if source is None or statement is None or not frame.arguments:
        return False
    return any(
        isinstance(node, ast.Attribute)
        and node.attr == attribute
        and isinstance(node.value, ast.Name)
        and node.value.id == frame.arguments[0]
        for node in ast.walk(source.scope_of(statement))
    )
