"""Arguments that come from a mapping: where the user's sources write the key, or expand it."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.violations import Expression
from surefit.laws.case import Case
from surefit.source.spans import Span


@dataclass(frozen=True, slots=True)
class WrittenInText:
    """`lr: 5e-3` in a string of the script, which is read as a mapping."""

    key: Expression
    """The whole line."""
    number: Span
    """Of the value, with the quotes around it."""


def in_texts(key: str, written: str, case: Case) -> Iterator[WrittenInText]:
    """Lines of strings over several lines that set a key to what was read as text."""
    quoted = rf"(?P<quote>[\"']?){re.escape(written)}(?P=quote)"
    entry = re.compile(rf"^\s*(?:- )?{re.escape(key)}\s*:\s+(?P<number>{quoted})\s*(?:#.*)?$")
    for source in case.recording.sources():
        for node in source.every(ast.Constant):
            if not isinstance(node.value, str) or node.lineno == node.end_lineno:
                continue
            for line in range(node.lineno + 1, node.end_lineno or node.lineno):
                match = entry.match(source.lines[line - 1])
                if match is not None:
                    begin, end = match.span("number")
                    whole = Expression(Place(source.file, line), None, match[0].strip())
                    yield WrittenInText(whole, Span(line, begin, line, end))


def expanded(key: str, written: str, case: Case) -> Iterator[Expression]:
    """`config["optim"]` of `build(**config["optim"])` in the user's frames, outermost first, where
    it holds this text under the key."""
    for frame in case.frames:
        node, source = case.node(frame) if frame.own else None, case.source(frame)
        for keyword in node.keywords if isinstance(node, ast.Call) else ():
            value = frame.value(ast.unparse(keyword.value)) if keyword.arg is None else None
            member = value.members.get(key) if value is not None else None
            if source is not None and member is not None and member.scalar == written:
                yield case.expression(source, keyword.value)


def in_displays(key: str, written: str, case: Case) -> Iterator[Expression]:
    """`"5e-3"` of `{"lr": "5e-3"}`."""
    for source in case.recording.sources():
        for node in source.every(ast.Dict):
            for name, value in zip(node.keys, node.values, strict=True):
                match name, value:
                    case ast.Constant(value=str(text)), ast.Constant(value=str(number)):
                        if text == key and number == written:
                            yield case.expression(source, value)
