"""What a tokenizer decodes: ids of tokens, none of them negative."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from surefit.doctor.observations import Value
from surefit.doctor.violations import Expression, Operand, Violation, in_code
from surefit.laws.case import Case, use_of
from surefit.source.reading import Function, Source, called

DECODES = ("decode", "batch_decode", "convert_ids_to_tokens")
IDS = ("token_ids", "sequences", "ids")
"""Names of their first argument."""
LIBRARY = re.compile(r"(^|/)(transformers/|tokenizers/)")


@dataclass(frozen=True, slots=True)
class Negatives:
    """Numbers below zero among ids."""

    probe: ClassVar[str] = "negative-numbers"

    below: int
    elements: int
    first: list[int]
    greatest: int
    kind: str
    """`tensor`, `array`, `list`, `lists`."""
    pad: int | None = None
    eos: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NegativeIds(Violation):
    """Negative numbers were handed to a tokenizer to be decoded."""

    ids: Operand
    tokenizer: str
    """As the line writes it."""
    negatives: Negatives
    decoded: tuple[tuple[Expression, Negatives], ...]
    """Ids of every such call in the function, with what they hold, where that is known."""


def violations_of(case: Case) -> Iterator[Violation]:
    crash, own = case.crash, case.own
    node = case.node(use_of(own)) if own is not None else None
    source = case.source(own)
    if crash is None or own is None or source is None or not isinstance(node, ast.Call):
        return
    at = crash.frames.index(own)
    below, ids = crash.frames[at + 1 :], ids_in(node)
    if ids is None or not below or not all(LIBRARY.search(frame.place.file) for frame in below):
        return
    assert isinstance(node.func, ast.Attribute)
    tokenizer = source.segment(node.func.value)
    negatives = ask(case, at, ids, tokenizer)
    if negatives is None or not negatives.below:
        return
    text = ast.unparse(ids)
    value = next((each for each in own.values if each.text == text), Value(text, ""))
    use = case.expression(source, ids)
    others = [(case.expression(source, other), other) for other in others_in(source, node)]
    yield NegativeIds(
        use=use_of(own),
        ids=Operand(value=value, name=in_code(use.text, "the ids"), frame=at, use=use),
        tokenizer=tokenizer,
        negatives=negatives,
        decoded=tuple(
            (expression, known)
            for expression, other in others
            if (known := ask(case, at, other, tokenizer)) is not None
        ),
    )


def ask(case: Case, frame: int, ids: ast.expr, tokenizer: str) -> Negatives | None:
    return case.ask(Negatives, frame=frame, text=ast.unparse(ids), tokenizer=tokenizer)


def ids_in(call: ast.Call) -> ast.expr | None:
    """What a call decodes, if it does."""
    if called(call) not in DECODES or not isinstance(call.func, ast.Attribute):
        return None
    if call.args:
        return call.args[0]
    return next((keyword.value for keyword in call.keywords if keyword.arg in IDS), None)


def others_in(source: Source, call: ast.Call) -> Iterator[ast.expr]:
    """What all calls of the function decode, the failing one among them, in order of lines."""
    scope = source.scope_of(call)
    while isinstance(scope, ast.Lambda):
        scope = source.scope_of(scope)
    nodes = [node for node in ast.walk(scope) if isinstance(node, ast.Call)]
    for node in sorted(nodes, key=lambda each: each.lineno):
        ids = ids_in(node)
        if ids is not None and within(source, node, scope):
            yield ids


def within(source: Source, node: ast.AST, scope: ast.AST) -> bool:
    """Not in a function of its own inside the scope; lambdas are its own lines."""
    for outer in source.up(node):
        if outer is scope:
            return True
        if isinstance(outer, Function) and not isinstance(outer, ast.Lambda):
            return False
    return False
