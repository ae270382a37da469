"""The values of a failing expression: those of the user's line, and those of the library's."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.observations import Frame, Value
from surefit.laws.case import Case
from surefit.laws.values.origins import names_in
from surefit.laws.values.value_origins import shortened
from surefit.source.reading import called

MOST_VALUES = 8
MAKE_ITERATORS = ("keys", "values", "items", "map", "filter", "zip", "enumerate", "reversed")
ITERATORS = frozenset(
    {
        "generator", "map", "filter", "zip", "enumerate", "islice", "chain", "reversed",
        "list_iterator", "dict_keys", "dict_values", "dict_items", "set", "frozenset",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FailingValue:
    """A value of the frame that has it."""

    value: Value
    frame: int
    own: bool
    """The user's line has it; otherwise only that of the library."""


def failing_values(case: Case) -> Iterator[FailingValue]:
    """Of the user's failing expression; then what the library's innermost function was called with
    or names in its failing line, unless the user's line has it."""
    own = case.own
    if own is None:
        return
    known = parts(own)
    yield from (FailingValue(value, case.number, own=True) for value in known)
    yield from written_iterators(case)
    innermost = case.frames[-1]
    if innermost is own:
        return
    arguments = [value for value in innermost.values if value.text in innermost.arguments]
    inside = {value.text: value for value in (*parts(innermost), *arguments)}
    shown = {value.identity for value in known}
    for value in inside.values():
        if value.identity not in shown:
            yield FailingValue(value, len(case.frames) - 1, own=False)


def written_iterators(case: Case) -> Iterator[FailingValue]:
    """Arguments of the failing call that are made in it, and whose class their text tells:
    `losses.values()`, `map(float, rows)`, `(row for row in rows)`."""
    node, own = case.node(case.own), case.own
    assert own is not None
    for argument in node.args if isinstance(node, ast.Call) else ():
        kind = ""
        if isinstance(argument, ast.GeneratorExp):
            kind = "generator"
        elif isinstance(argument, ast.Call) and called(argument) in MAKE_ITERATORS:
            owner = argument.func.value if isinstance(argument.func, ast.Attribute) else None
            receiver = own.value(ast.unparse(owner)) if owner is not None else None
            is_dict = receiver is not None and receiver.kind == "dict"
            kind = f"dict_{called(argument)}" if is_dict else called(argument) if not owner else ""
        if kind in ITERATORS:
            yield FailingValue(Value(ast.unparse(argument), kind), case.number, own=True)


def raised_at(frame: Frame, most: int) -> str:
    """`json/encoder.py:180  raise TypeError(...)`: a file of Python itself without its folder."""
    place = re.sub(r"^.*[/\\]lib[/\\]python3\.\d+[/\\]", "", str(frame.place))
    line = " ".join((frame.expression or frame.line).split())
    return f"{place}  {shortened(line, most)}"


def parts(frame: Frame) -> list[Value]:
    """Values in the failing expression, or in its line where the expression has none, in order."""
    for text in (frame.expression, frame.line):
        names = names_in(text) if text else set()
        inside = [value for value in frame.values if value.text in names]
        if text and inside:
            return sorted(inside, key=lambda value: text.find(value.text))[:MOST_VALUES]
    return []


def says_something(value: Value) -> bool:
    """Not a bare object, whose class alone is known."""
    known = value.shape, value.layer, value.length, value.scalar, value.made_at
    return value.kind == "NoneType" or any(part is not None for part in known)
