"""What a tokenizer decodes: ids of tokens, none of them negative."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from surefit.doctor.observations import Value
from surefit.doctor.violations import Expression, Operand, Violation, in_code
from surefit.laws.case import Case, use_of
from surefit.source.reading import Source, called

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
    own, node, source = case.own, case.node(case.own), case.source(case.own)
    if own is None or source is None or not isinstance(node, ast.Call):
        return
    below, ids = case.frames[case.number + 1 :], ids_in(node)
    if ids is None or not below or not all(LIBRARY.search(frame.place.file) for frame in below):
        return
    assert isinstance(node.func, ast.Attribute)
    tokenizer = source.segment(node.func.value)
    negatives = ask(case, ids, tokenizer)
    if negatives is None or not negatives.below:
        return
    text, use = ast.unparse(ids), case.expression(source, ids)
    value, name = own.value(text) or Value(text, ""), in_code(use.text, "the ids")
    yield NegativeIds(
        use=use_of(own),
        ids=Operand(value=value, name=name, frame=case.number, use=use),
        tokenizer=tokenizer,
        negatives=negatives,
        decoded=tuple(
            (case.expression(source, other), known)
            for other in others_in(source, node)
            if (known := ask(case, other, tokenizer)) is not None
        ),
    )


def ask(case: Case, ids: ast.expr, tokenizer: str) -> Negatives | None:
    return case.ask(Negatives, frame=case.number, text=ast.unparse(ids), tokenizer=tokenizer)


def ids_in(call: ast.Call) -> ast.expr | None:
    """What a call decodes, if it does."""
    if called(call) not in DECODES or not isinstance(call.func, ast.Attribute):
        return None
    if call.args:
        return call.args[0]
    return next((keyword.value for keyword in call.keywords if keyword.arg in IDS), None)


def others_in(source: Source, call: ast.Call) -> Iterator[ast.expr]:
    """What all calls of the function decode, the failing one among them, in order of lines."""
    scope = function_around(source, call)
    nodes = [node for node in source.every(ast.Call) if function_around(source, node) is scope]
    for node in sorted(nodes, key=lambda each: each.lineno):
        if (ids := ids_in(node)) is not None:
            yield ids


def function_around(source: Source, node: ast.AST) -> ast.AST:
    """Lambdas are lines of their function."""
    scope = source.scope_of(node)
    while isinstance(scope, ast.Lambda):
        scope = source.scope_of(scope)
    return scope
