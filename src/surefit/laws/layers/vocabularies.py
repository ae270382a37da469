"""Tokens that a script adds to a tokenizer, and where its model can be resized."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import Frame, Layer
from surefit.doctor.violations import Expression
from surefit.laws.case import Case
from surefit.source.definitions import blocks_before
from surefit.source.line_edits import block_of, run_at_once, shares_lines
from surefit.source.reading import Source, called, dotted, targets

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

    def follows(self, call: Expression) -> bool:
        """The call stands in the statement itself, or before it in its own function."""
        node = self.source.expression_at(call.span) if call.span is not None else None
        here = call.place.file == self.source.file and node is not None
        if not here or node is None:
            return False
        same = self.source.scope_of(node) is self.source.scope_of(self.after)
        return same and node.lineno <= (self.after.end_lineno or 0)


def additions(case: Case) -> list[Expression]:
    """Calls that add tokens, in all files of the user's."""
    return [
        case.expression(source, call)
        for source in case.recording.sources()
        for call in source.calls_named(*ADDS)
        if isinstance(call.func, ast.Attribute)
    ]


def meeting_of(
    case: Case, layer: Layer | None, tokenizer: str, added: Sequence[Expression]
) -> Meeting | None:
    """`tokenizer` is its class. By frames; else by the source that creates both in one block."""
    root = layer.root if layer is not None else None
    return by_frames(case, root, tokenizer) or by_source(
        case, added, layer.made_at if layer is not None else None
    )


def by_frames(case: Case, root: str | None, tokenizer: str) -> Meeting | None:
    """The outermost frame that has a name for the model (of class `root`) and, itself or globally,
    for the tokenizer."""
    everywhere = [frame for frame in case.frames if frame.own]
    for number, frame in enumerate(case.frames):
        source = case.source(frame.place) if frame.own else None
        models = names_of(frame, root, layers=True)
        known = names_of(frame, tokenizer) or names_of(everywhere[0], tokenizer) if source else []
        if source is None or not models or not known:
            continue
        after = last_that_binds(source, frame, models[0], known[0])
        if after is not None:
            return Meeting(number, models[0], known[0], source, after)
    return None


def by_source(case: Case, added: Sequence[Expression], created: Place | None) -> Meeting | None:
    """Tokens are added in the block in which the model gets its name, as in an `__init__` that
    creates `self.model` and `self.tokenizer`."""
    source = case.source(created)
    statement = source.statement_at(created.line) if source and created and created.line else None
    model = bound_name(statement) if statement is not None else ""
    if source is None or statement is None or not model:
        return None
    block = block_of(source, statement)
    for call in reversed(added):
        node = case.node(call) if call.place.file == source.file else None
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        adding_statement = source.statement_of(node)
        if adding_statement in block:
            after = max(statement, adding_statement, key=lambda each: each.lineno)
            return Meeting(None, model, source.segment(node.func.value), source, after)
    return None


def holder_between(source: Source, model: str, after: ast.stmt) -> ast.stmt | None:
    """An optimizer that is given the parameters before the new rows are there: it would not hold
    them."""
    block = block_of(source, after)
    before = block[: block.index(after)]
    bound = [at for at, statement in enumerate(before) if binds(statement, model)]
    holders = [
        statement
        for statement in before[bound[-1] + 1 if bound else 0 :]
        if isinstance(statement, ast.Assign) and f"{model}.parameters(" in ast.unparse(statement)
    ]
    return holders[-1] if holders else None


def names_of(frame: Frame, kind: str | None, *, layers: bool = False) -> list[str]:
    """Plain names and attributes for things of a class."""
    return [
        value.text
        for value in frame.values
        if value.kind == kind and (value.layer is not None) is layers and is_dotted(value.text)
    ]


def is_dotted(text: str) -> bool:
    return all(part.isidentifier() for part in text.split("."))


def last_that_binds(source: Source, frame: Frame, model: str, tokenizer: str) -> ast.stmt | None:
    """The last statement, on the straight way to the failing one, that gives one of the two its
    name or adds tokens."""
    here = source.statement_at(frame.place.line or 0)
    if here is None:
        return None
    for block in blocks_before(source, here, (ast.FunctionDef, ast.AsyncFunctionDef)):
        for statement in reversed(block):
            if binds(statement, model) or binds(statement, tokenizer) or adds(source, statement):
                return None if shares_lines(source, statement) else statement
    return None


def bound_name(statement: ast.AST | None) -> str:
    """`model`, `self.model`: the only name that an assignment gives a value."""
    if not isinstance(statement, ast.Assign | ast.AnnAssign):
        return ""
    names = [dotted(target) for target in targets(statement)]
    return names[0] if len(names) == 1 else ""


def binds(statement: ast.stmt, name: str) -> bool:
    if not isinstance(statement, ast.Assign | ast.AnnAssign):
        return False
    return any(
        dotted(part) == name
        for target in targets(statement)
        for part in ([*target.elts] if isinstance(target, ast.Tuple) else [target])
    )


def adds(source: Source, statement: ast.stmt) -> bool:
    """Directly, or in a function of the file that it calls."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return False
    return any(
        called(call) in ADDS or any(map(adding, source.definitions.get(called(call), ())))
        for call in calls_at_once(statement)
    )


def calls_at_once(statement: ast.stmt) -> Iterator[ast.Call]:
    return (node for node in run_at_once([statement]) if isinstance(node, ast.Call))


def adding(definition: ast.AST) -> bool:
    return any(isinstance(node, ast.Call) and called(node) in ADDS for node in ast.walk(definition))
