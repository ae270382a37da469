"""Tokens that a script adds to a tokenizer, and where its model could be made to know them."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import Crash, Frame, Script
from surefit.doctor.recording import Recording
from surefit.evidence.made_names import name_at
from surefit.source.line_edits import block_of, run_at_once, shares_lines
from surefit.source.reading import Function, Source, called, dotted, targets

ADDS = ("add_tokens", "add_special_tokens")


@dataclass(frozen=True, slots=True)
class Meeting:
    """A model and a tokenizer in one frame, and the statement after which both are as they are."""

    frame: int | None
    """Number of the frame; None where only the source tells."""
    model: str
    tokenizer: str
    source: Source
    after: ast.stmt


def additions(seen: Recording) -> list[tuple[Source, ast.Call]]:
    """Calls that add tokens, in all files of the user's."""
    return [
        (source, call)
        for script in seen.all(Script)
        if (source := seen.source(script.file)) is not None
        for call in source.every(ast.Call)
        if called(call) in ADDS and isinstance(call.func, ast.Attribute)
    ]


def meeting(crash: Crash, seen: Recording, root: str | None, tokenizer: str) -> Meeting | None:
    """The outermost frame that has a name for the model and, itself or globally, for the tokenizer.

    `root` is the class of the model, `tokenizer` that of the tokenizer.
    """
    everywhere = [frame for frame in crash.frames if frame.own]
    for number, frame in enumerate(crash.frames):
        source = seen.source(frame.place) if frame.own else None
        models = names_of(frame, root, layers=True)
        known = names_of(frame, tokenizer) or names_of(everywhere[0], tokenizer) if source else []
        if source is None or not models or not known:
            continue
        after = last_that_makes(source, frame, models[0], known[0])
        if after is not None:
            return Meeting(number, models[0], known[0], source, after)
    return None


def made_beside(added: Sequence[tuple[Source, ast.Call]], made_at: Place | None) -> Meeting | None:
    """By the source alone: tokens are added in the same block in which the model gets its name,
    as in an `__init__` that makes `self.model` and `self.tokenizer`."""
    if made_at is None or made_at.line is None:
        return None
    for source, call in reversed(added):
        statement, made = source.statement_of(call), source.statement_at(made_at.line)
        model = name_at(source, made_at) if source.file == made_at.file else None
        if model is None or made is None or not isinstance(call.func, ast.Attribute):
            continue
        block = block_of(source, made)
        if statement in block:
            after = max(made, statement, key=lambda one: one.lineno)
            tokenizer = source.segment(call.func.value)
            return Meeting(None, model, tokenizer, source, after)
    return None


def holder_between(source: Source, model: str, after: ast.stmt) -> ast.stmt | None:
    """An optimizer that is given the parameters before the new rows are there: it would not hold
    them."""
    block = block_of(source, after)
    before = block[: block.index(after)]
    made = [at for at, one in enumerate(before) if binds(one, model)]
    given = [
        one
        for one in before[made[-1] + 1 if made else 0 :]
        if isinstance(one, ast.Assign) and f"{model}.parameters(" in ast.unparse(one)
    ]
    return given[-1] if given else None


def names_of(frame: Frame, kind: str | None, *, layers: bool = False) -> list[str]:
    """Plain names and attributes for things of a class."""
    return [
        value.text
        for value in frame.values
        if value.kind == kind and (value.layer is not None) is layers and is_dotted(value.text)
    ]


def is_dotted(text: str) -> bool:
    return all(part.isidentifier() for part in text.split("."))


def last_that_makes(source: Source, frame: Frame, model: str, tokenizer: str) -> ast.stmt | None:
    """The last statement, on the straight way to the failing one, that gives one of the two its
    name or adds tokens."""
    here = source.statement_at(frame.place.line or 0)
    if here is None:
        return None
    for block in earlier(source, here):
        for statement in reversed(block):
            if binds(statement, model) or binds(statement, tokenizer) or adds(source, statement):
                return None if shares_lines(source, statement) else statement
    return None


def earlier(source: Source, statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Statements before this one, then before the block's own, out to the function."""
    inner: ast.AST = statement
    for outer in source.up(statement):
        for _, members in ast.iter_fields(outer):
            if isinstance(members, list) and inner in members:
                yield members[: members.index(inner)]
        if isinstance(outer, Function):
            return
        inner = outer


def binds(statement: ast.stmt, name: str) -> bool:
    if not isinstance(statement, ast.Assign | ast.AnnAssign):
        return False
    return any(
        dotted(one) == name
        for target in targets(statement)
        for one in ([*target.elts] if isinstance(target, ast.Tuple) else [target])
    )


def adds(source: Source, statement: ast.stmt) -> bool:
    """Directly, or in a function of the file that it calls."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return False
    return any(
        called(call) in ADDS or any(adding(one) for one in source.definitions.get(called(call), ()))
        for call in calls_at_once(statement)
    )


def calls_at_once(statement: ast.stmt) -> Iterator[ast.Call]:
    return (node for node in run_at_once([statement]) if isinstance(node, ast.Call))


def adding(definition: ast.AST) -> bool:
    return any(isinstance(one, ast.Call) and called(one) in ADDS for one in ast.walk(definition))
