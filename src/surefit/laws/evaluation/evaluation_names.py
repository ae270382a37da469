"""What the user's names at a call of a model say of its rows: held out, or trained on."""

import ast
import re
from collections.abc import Iterator
from functools import cache

from surefit.doctor.findings import Place
from surefit.doctor.recording import Recording
from surefit.source.reading import Source

HELD_OUT = frozenset(
    ("val", "valid", "validation", "validate", "test", "dev", "heldout", "held", "holdout")
    + ("unseen", "vl", "te", "va")
)
TRAINED = frozenset(("train", "training", "trn", "tr"))
EVALUATING = HELD_OUT | frozenset(("eval", "evaluate", "evaluation", "infer", "inference"))
FOLD = frozenset(("fold", "folds", "kfold"))
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


@cache
def words_of(name: str) -> frozenset[str]:
    """`val`, `loader` of `val_loader`, `valLoader` and `ValLoader`."""
    return frozenset(word.lower() for word in WORD.findall(name))


def names_in(node: ast.AST) -> Iterator[str]:
    """Names and attributes that an expression or statement reads, less those that it calls."""
    called = {
        inner.func for inner in ast.walk(node) if isinstance(inner, ast.Call)
    }  # `evaluate` says what is done, not on what
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and inner not in called:
            yield inner.id
        elif isinstance(inner, ast.Attribute) and inner not in called:
            yield inner.attr


def data_words(recording: Recording, stack: tuple[Place, ...]) -> list[frozenset[str]]:
    """For each of the user's lines: words of the names that it takes data from. Of a line in a
    loop, also of what the loop goes through."""
    found = []
    for place in stack:
        source = recording.source(place)
        statement = source.statement_at(place.line or 0) if source is not None else None
        if source is None or statement is None:
            continue
        parts: list[ast.AST] = list(expressions_of(statement))
        parts += [outer.iter for outer in source.up(statement) if isinstance(outer, ast.For)]
        names = {name for part in parts for name in names_in(part)}
        found.append(frozenset(word for name in names for word in words_of(name)))
    return found


def expressions_of(statement: ast.stmt) -> Iterator[ast.AST]:
    """Of a compound statement its head alone."""
    if isinstance(statement, ast.For):
        yield statement.iter
    elif isinstance(statement, ast.If | ast.While):
        yield statement.test
    elif isinstance(statement, ast.With):
        yield from (item.context_expr for item in statement.items)
    elif not isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.Try):
        yield statement


def is_held_out(recording: Recording, stack: tuple[Place, ...]) -> bool:
    """The names say that these rows are for validation or test; not where they are called rows
    that training uses."""
    lines = data_words(recording, stack)
    if any(words & TRAINED and not words & HELD_OUT for words in lines[:3]):
        return False
    return any(words & HELD_OUT for words in lines) or any(
        words_of(name) & EVALUATING for name in functions_at(recording, stack)
    )


def functions_at(recording: Recording, stack: tuple[Place, ...]) -> Iterator[str]:
    for place in stack:
        source = recording.source(place)
        statement = source.statement_at(place.line or 0) if source is not None else None
        if source is not None and statement is not None:
            scope = source.scope_of(statement)
            if isinstance(scope, ast.FunctionDef):
                yield scope.name


def has_folds(recording: Recording) -> bool:
    """Cross validation: what was trained on in one fold is held out in another."""
    return any(
        words_of(name) & FOLD for source in recording.sources() for name in every_name(source)
    )


def every_name(source: Source) -> Iterator[str]:
    yield from (node.id for node in source.every(ast.Name))
    yield from (node.name for node in source.every(ast.FunctionDef))
    yield from (node.attr for node in source.every(ast.Attribute))
