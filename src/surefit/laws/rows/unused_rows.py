"""Rows that a script sets aside and never uses, and the expression that could be meant for them."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.measures.row_sets import EvaluatedRows
from surefit.doctor.recording import Recording
from surefit.doctor.violations import Expression
from surefit.laws.evaluation.evaluation_names import HELD_OUT, words_of
from surefit.laws.rows.loaders import loader_call
from surefit.source.reading import Source, called
from surefit.source.selection import nodes_within

DATA = frozenset(
    ("set", "ds", "db", "data", "dataset", "rows", "x", "examples", "loader", "dl", "split")
    + ("images", "texts", "samples", "inputs", "features", "df", "iter", "dataloader", "batches")
)


@dataclass(frozen=True)
class UnusedRows:
    """A name for held-out rows that nothing is done with."""

    name: str
    place: Place
    instead_of: Expression | None
    """What is used where it was meant, if that is certain."""


def unused_rows(recording: Recording, row: EvaluatedRows) -> UnusedRows | None:
    places = [*((row.loader.place,) if row.loader and row.loader.place else ()), *row.stack]
    for source in recording.sources():
        for name in unused_names(source):
            where = Place(source.file, name.lineno)
            return UnusedRows(name.id, where, replaced_by(source, name, places))
    return None


def unused_names(source: Source) -> Iterator[ast.Name]:
    """Bound by an assignment, called held out, and read by nothing but `len` and the like."""
    for node in source.every(ast.Name):
        words = words_of(node.id)
        if not isinstance(node.ctx, ast.Store) or not words & HELD_OUT or not words & DATA:
            continue
        statement = source.statement_of(node)
        if not isinstance(statement, ast.Assign):
            continue
        reads = [
            other
            for other in source.every(ast.Name)
            if other.id == node.id and isinstance(other.ctx, ast.Load)
        ]
        if all(is_counted(source, other) for other in reads):
            yield node


def is_counted(source: Source, node: ast.Name) -> bool:
    """`len(val_set)`, `val_x.shape`."""
    parent = source.parents.get(node)
    if isinstance(parent, ast.Call) and called(parent) in ("len", "type"):
        return True
    return isinstance(parent, ast.Attribute) and parent.attr in ("shape", "num_rows", "columns")


def replaced_by(source: Source, name: ast.Name, places: list[Place]) -> Expression | None:
    """The dataset of the evaluating loader, or the one name in the evaluating line that is called
    as this one is but for training."""
    for place in places:
        if place.file != source.file or place.line is None:
            continue
        call = loader_call(source, place)
        data = source.argument(call, "dataset", 0) if call is not None else None
        if isinstance(data, ast.Name) and source.scope_of(data) is source.scope_of(name):
            return expression(source, data)
        statement = source.statement_at(place.line)
        if statement is None or isinstance(statement, ast.FunctionDef | ast.ClassDef):
            continue
        alike = [
            node for node in nodes_within(statement, ast.Name) if is_training_twin(node.id, name.id)
        ]
        if len(alike) == 1 and source.scope_of(alike[0]) is source.scope_of(name):
            return expression(source, alike[0])
    return None


def is_training_twin(name: str, held_out: str) -> bool:
    """`x_train` for `x_test`."""
    rest = words_of(held_out) - HELD_OUT
    return "train" in words_of(name) and words_of(name) - {"train"} == rest


def expression(source: Source, node: ast.expr) -> Expression:
    place = Place(source.file, node.lineno, node.end_lineno)
    return Expression(place, source.span(node), source.segment(node))
