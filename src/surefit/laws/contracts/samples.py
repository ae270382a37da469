"""A row is not None, none of its values is None, and a text is text."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.observations import CollatorSeen, Frame, Value
from surefit.doctor.violations import Operand, Violation
from surefit.doctor.words import code
from surefit.laws.case import Case, use_of
from surefit.source import snippets
from surefit.source.reading import Source

DEFAULT = "default_collate"
TOKENIZING = r"transformers/tokenization|transformers/models/.*/tokenization|/tokenizers/"
TOKENIZERS = ("Tokenizer", "BertWordPieceTokenizer", "ByteLevelBPETokenizer")
ABSENT = ("NoneType", "nan")


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsAreNone(Violation):
    """A collator was given None in place of rows."""

    collator: CollatorSeen


@dataclass(frozen=True, slots=True, kw_only=True)
class ValuesAreNone(Violation):
    """The default collator was given rows in which a value is None."""

    collator: CollatorSeen
    rows: Operand | None
    """The list of rows, where a frame has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextAbsent(Violation):
    """What takes text alone was given None or nan."""

    texts: Operand
    count: int
    absent: int
    kind: str
    """`None` or `nan`."""
    at: tuple[int, ...] = ()
    tokenizer: bool = False


def violations_of(case: Case) -> Iterator[Violation]:
    collator = case.crash.collator if case.crash is not None else None
    asking = next((frame for frame in case.frames if frame.own), None)
    if collator is not None and asking is not None:
        yield from in_a_batch(case, collator, asking)
    if case.own is not None:
        yield from among_texts(case, case.own)


def in_a_batch(case: Case, collator: CollatorSeen, asking: Frame) -> Iterator[Violation]:
    if collator.nones and (not collator.own or is_about_none(case)):
        yield RowsAreNone(use=use_of(asking), collator=collator)
    elif collator.kind == DEFAULT and collator.missing and not collator.nones:
        yield ValuesAreNone(use=use_of(asking), collator=collator, rows=rows_in(case))


def is_about_none(case: Case) -> bool:
    """A collator of the user's can fail for other reasons: the failing part must hold a None."""
    inside = [frame for frame in case.frames if frame.own][-2:]
    return any(holds_none(frame) for frame in (*inside, *case.frames[-1:]))


def holds_none(frame: Frame) -> bool:
    parts = [value for value in frame.values if is_in(value.text, frame.expression or frame.line)]
    return any(value.kind == "NoneType" or value.nones for value in parts)


def is_in(text: str, expression: str) -> bool:
    whole = rf"(?<![\w.]){re.escape(text)}(?!\w)"
    return re.search(whole, expression.replace('"', "'")) is not None


def rows_in(case: Case) -> Operand | None:
    for number, frame in enumerate(case.frames):
        value = case.value(number, "batch") if frame.function == DEFAULT else None
        if value is not None:
            return Operand(value=value, name="the rows", frame=number)
    return None


def among_texts(case: Case, own: Frame) -> Iterator[TextAbsent]:
    number = case.number
    beyond = case.frames[number + 1 :]
    direct = any(value.kind in TOKENIZERS for value in own.values) and not beyond
    if direct or any(re.search(TOKENIZING, frame.place.file) for frame in beyond):
        yield from given_to_tokenizer(own, number, beyond)
    else:
        source = case.source(own)
        for text in worked_on_as_text(own, source) if source is not None else ():
            value = case.value(number, text)
            if value is not None and is_absent(value):
                yield single(own, number, value)
                return


def given_to_tokenizer(own: Frame, number: int, beyond: tuple[Frame, ...]) -> Iterator[TextAbsent]:
    """None or nan among its texts, or in place of one."""
    last = number + len(beyond)
    for at, frame in {number: own, last: (own, *beyond)[-1]}.items():
        for value in frame.values:
            named = is_in(value.text, frame.expression or frame.line)
            absent = sum(value.kinds.get(kind, 0) for kind in ABSENT)
            plain = not set(value.kinds) - {"str", *ABSENT}
            if named and value.kind in ("list", "tuple") and absent and plain:
                none = value.kinds.get("NoneType", 0) >= value.kinds.get("nan", 0)
                yield TextAbsent(
                    use=use_of(own),
                    texts=Operand(value=value, name=code(value.text), frame=at),
                    count=value.length or 0,
                    absent=absent,
                    kind="None" if none else "nan",
                    at=value.odd if value.kinds.get("str", 0) >= absent else (),
                    tokenizer=True,
                )
                return
    call = snippets.expression(own.expression)
    for argument in call.args if isinstance(call, ast.Call) else ():
        text = own.value(ast.unparse(argument))
        if text is not None and is_absent(text):
            yield single(own, number, text, tokenizer=True)
            return


def single(own: Frame, number: int, value: Value, *, tokenizer: bool = False) -> TextAbsent:
    texts = Operand(value=value, name=code(value.text), frame=number)
    kind = "None" if value.kind == "NoneType" else "nan"
    return TextAbsent(
        use=use_of(own), texts=texts, count=1, absent=1, kind=kind, tokenizer=tokenizer
    )


def worked_on_as_text(own: Frame, source: Source) -> Iterator[str]:
    """`text` of `text.lower`, and what a regular expression is searched in."""
    node = source.expression_at(own.span) if own.span else snippets.expression(own.expression)
    asked = node.func if isinstance(node, ast.Call) else node
    if isinstance(asked, ast.Attribute) and hasattr(str, asked.attr):
        yield ast.unparse(asked.value)
    if isinstance(node, ast.Call) and source.imported(node.func).startswith("re."):
        yield from map(ast.unparse, node.args)


def is_absent(value: Value) -> bool:
    number = value.scalar
    return value.kind == "NoneType" or (isinstance(number, float) and number != number)
