"""What attention and groups take: a width that the number of heads or groups divides."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.observations import Frame, Value
from surefit.doctor.violations import Operand, Violation, Written
from surefit.laws.case import Case, use_of
from surefit.laws.values.written_numbers import given_as
from surefit.lineage.producers import Producer, ProducerKind
from surefit.source import snippets

RAISED = ("ValueError", "AssertionError")
PARTS = re.compile(r"heads?$|^n_?heads?$|^groups$|^num_groups$|^n_groups$")
WIDTHS = re.compile(r"dim$|hidden|embd|embed|width|model|channels|features|size$")
Pair = tuple[str, int, str, int]
"""Name and number of the width, and of the heads or groups."""
USUAL = re.compile(r"^embed|^hidden|model$|^n_embd$|channels$")
"""What people call the width, where several numbers are equal to it."""

ENDS = (ProducerKind.LITERAL, ProducerKind.SETTING)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndivisibleWidth(Violation):
    """A width that a number of heads or groups does not divide."""

    width_name: str
    width: int
    parts_name: str
    parts: int
    checked: str = ""
    """Where that was found out."""
    width_written: Written | None = None
    parts_written: Written | None = None


def violations_of(case: Case) -> Iterator[Violation]:
    """Of a check that raised, by the numbers that it reads."""
    crash = case.crash
    if crash is None or case.own is None or crash.kind not in RAISED:
        return
    checks = crash.frames[-1].checks
    if checks and not any(re.search(r"%|//|\*", check.text) for check in checks):
        return  # what was checked is known, and is no division
    pair = pair_in(crash.frames[-1])
    if pair is None:
        return
    width_name, width, parts_name, parts = pair
    yield IndivisibleWidth(
        use=use_of(case.own),
        width_name=short(width_name),
        width=width,
        parts_name=short(parts_name),
        parts=parts,
        checked=f"{crash.frames[-1].place}  {crash.frames[-1].function}",
        width_written=number_given(case, width_name, width),
        parts_written=number_given(case, parts_name, parts),
    )


def short(name: str) -> str:
    return name.rpartition(".")[2]


def pair_in(frame: Frame) -> Pair | None:
    """Of the numbers that the failing statement reads; where it reads none, of all in the frame."""
    numbers = dict(numbers_of(frame))
    written = {text: numbers[text] for text in texts_in(frame) if text in numbers}
    read = {text: number for value in frame.values for text, number in integer(value.text, value)}
    for known in (written, read, numbers):
        pairs = sorted(pairs_of(known), key=lambda pair: not USUAL.search(short(pair[0])))
        if len({(width, parts) for _, width, _, parts in pairs}) == 1:
            return pairs[0]
    return None


def numbers_of(frame: Frame) -> Iterator[tuple[str, int]]:
    for value in frame.values:
        yield from integer(value.text, value)
        for name, member in value.members.items():
            yield from integer(f"{value.text}.{name}", member)
    for name, size in (frame.layer.sizes if frame.layer else {}).items():
        yield f"self.{name}", size


def integer(text: str, value: Value) -> Iterator[tuple[str, int]]:
    if type(value.scalar) is int and value.scalar > 1:
        yield text, value.scalar


def texts_in(frame: Frame) -> set[str]:
    """Names that the statement writes; of a long one only its expression is known."""
    written = (snippets.statement(text) for text in (frame.line, frame.expression or ""))
    return {
        ast.unparse(node)
        for whole in written
        for node in (ast.walk(whole) if whole is not None else ())
        if isinstance(node, ast.Name | ast.Attribute)
    }


def pairs_of(numbers: dict[str, int]) -> Iterator[Pair]:
    for parts_name, parts in numbers.items():
        for width_name, width in numbers.items():
            first, second = short(width_name), short(parts_name)
            fits = WIDTHS.search(first) and PARTS.search(second)
            if fits and not PARTS.search(first) and "head" not in first and width % parts:
                yield width_name, width, parts_name, parts


def number_given(case: Case, name: str, number: int) -> Written | None:
    """The one literal or setting of this value that the user's failing line gives to a call, or
    reads under a name; under this name where the call is given several such numbers."""
    if case.own is None:
        return None
    node, source = case.node(case.own), case.source(case.own)
    exact: dict[str, Written] = {}
    named: dict[str, Written] = {}
    for text, part in read_in(node, name):
        if isinstance(part, ast.Constant) and source is not None and part.value == number:
            exact[text] = case.expression(source, part)
            continue
        lineage = case.lineage(Operand(value=Value(text, ""), name=text, frame=case.number))
        for literal in (found for found in lineage.all if is_number(found, number)):
            exact[f"{literal.place}{literal.span}"] = literal
        for literal in given_as(lineage, (name.rpartition(".")[2],)):
            if is_number(literal, number):
                named[f"{literal.place}{literal.span}"] = literal
    for found in (exact, named):
        if len(found) == 1:
            return next(iter(found.values()))
    return None


def read_in(node: ast.expr | None, name: str) -> Iterator[tuple[str, ast.expr]]:
    """What a call is given; of another expression, the name itself."""
    if isinstance(node, ast.Call):
        for part in (*node.args, *(keyword.value for keyword in node.keywords)):
            yield ast.unparse(part), part
    else:
        yield name, ast.Name(name)


def is_number(producer: Producer, number: int) -> bool:
    return producer.kind in ENDS and producer.value.scalar == number
