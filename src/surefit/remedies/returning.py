"""Functions of the user's that return rows, and the statements that end them with None."""

import ast
from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import CollatorSeen
from surefit.doctor.words import code
from surefit.laws.case import Case
from surefit.remedies.collating import loader_of
from surefit.source.classes import Method, function_called, method
from surefit.source.none_returns import ways_to_none
from surefit.source.reading import Source


@dataclass(frozen=True, slots=True)
class Returning:
    """A function of the user's that returns rows, and the statements that end it with None."""

    source: Source
    function: Method
    ends: list[ast.stmt]

    @property
    def place(self) -> Place:
        return Place(self.source.file, next(iter(self.ends), self.function).lineno)


def returning_rows(collator: CollatorSeen, case: Case) -> Returning | None:
    """`__getitem__` of the dataset; of `[encode(row) for row in rows]` the function in it."""
    classes = {collator.dataset.kind, collator.dataset.of} if collator.dataset else set()
    for source in case.recording.sources():
        for owner in source.every(ast.ClassDef):
            function = method(source, owner, "__getitem__") if owner.name in classes else None
            if function is not None:
                return Returning(source, function, ways_to_none(source, function))
    return returned_to_list(case)


def returned_to_list(case: Case) -> Returning | None:
    source, call = loader_of(case) or (None, None)
    dataset = source.argument(call, "dataset", 0) if source and call else None
    rows = source.value_of(dataset) if source is not None and dataset is not None else None
    if source is None or not isinstance(rows, ast.ListComp) or not isinstance(rows.elt, ast.Call):
        return None
    function = function_called(source, rows.elt)
    ends = ways_to_none(source, function) if function is not None else []
    return Returning(source, function, ends) if function is not None and ends else None


def condition_of(source: Source, end: ast.stmt) -> str:
    outer = source.parents.get(end)
    if isinstance(outer, ast.If) and end in outer.body:
        return f", if {code(source.segment(outer.test))}"
    if isinstance(outer, ast.ExceptHandler):
        return f", after {code(source.segment(outer.type)) if outer.type else 'any exception'}"
    return ""
