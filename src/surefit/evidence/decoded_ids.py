"""Ids that were handed to a tokenizer to be made text of, negative ones among them."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.observations import Crash, Frame, Value
from surefit.doctor.recording import Recording
from surefit.source.reading import Function, Source, called

DECODES = ("decode", "batch_decode")
READS = ("convert_ids_to_tokens", *DECODES)
LIBRARY = re.compile(r"(^|/)(transformers/|tokenizers/)")


@dataclass(frozen=True, slots=True)
class Decoding:
    """A call of the user's that makes text of ids."""

    frame: Frame
    source: Source
    call: ast.Call
    ids: ast.expr
    value: Value | None
    """Of the ids, where the frame has it."""

    @property
    def text(self) -> str:
        return " ".join(self.source.segment(self.ids).split())

    @property
    def tokenizer(self) -> str:
        assert isinstance(self.call.func, ast.Attribute)
        return self.source.segment(self.call.func.value)


def decoding_of(crash: Crash, seen: Recording) -> Decoding | None:
    """The innermost own frame's call, if a tokenizer was at work below it."""
    frame = crash.own_frame
    source = seen.source(frame.place) if frame else None
    node = source.expression_at(frame.span) if source and frame and frame.span else None
    if frame is None or source is None or not isinstance(node, ast.Call):
        return None
    if called(node) not in READS or not isinstance(node.func, ast.Attribute):
        return None
    below = crash.frames[crash.frames.index(frame) + 1 :]
    if not below or not all(LIBRARY.search(one.place.file) for one in below):
        return None
    ids = given(node)
    return Decoding(frame, source, node, ids, value_of(frame, ids)) if ids is not None else None


def given(call: ast.Call) -> ast.expr | None:
    if call.args:
        return call.args[0]
    named = [one.value for one in call.keywords if one.arg in ("token_ids", "sequences", "ids")]
    return named[0] if named else None


def value_of(frame: Frame, node: ast.expr) -> Value | None:
    text = ast.unparse(node)
    return next((one for one in frame.values if one.text == text), None)


def other_decodings(decoding: Decoding) -> Iterator[tuple[ast.Call, ast.expr]]:
    """All calls of the function that make text of ids, the failing one among them."""
    source = decoding.source
    scope = source.scope_of(decoding.call)
    while isinstance(scope, ast.Lambda):
        scope = source.scope_of(scope)
    for node in ast.walk(scope):
        if isinstance(node, ast.Call) and called(node) in READS and within(source, node, scope):
            ids = given(node)
            if ids is not None and isinstance(node.func, ast.Attribute):
                yield node, ids


def within(source: Source, node: ast.AST, scope: ast.AST) -> bool:
    """Not in a function of its own inside the scope; lambdas are its own lines."""
    for outer in source.up(node):
        if outer is scope:
            return True
        if isinstance(outer, Function) and not isinstance(outer, ast.Lambda):
            return False
    return False
