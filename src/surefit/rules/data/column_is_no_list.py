"""A column of a dataset or a table stands where a list is needed.

## What happens
`dataset["text"]` is a `Column` since version 4 of `datasets`: it reads rows when they are asked
for, and is no list. A column of pandas is a `Series`. A tokenizer takes neither (`text input must
be of type str`), and a `Column` cannot be added to another, sorted or shuffled.

## Why it matters
The message speaks of texts and their types, so that rows are searched for values that are none;
all of them are good. Scripts that ran with an older version stop.

## What to do
Make a list of it: `list(dataset["text"])`, `frame["text"].tolist()`.

## How it is recognised
The failing expression gives a tokenizer a `Column`, a `Series` or an array in place of texts, or
asks a `Column` for something that only a list has. The text of the exception is not looked at.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.rows import RowsArrive
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Frame, Value
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, spoken
from surefit.evidence.value_words import in_words
from surefit.source.definitions import definition
from surefit.source.edits import appended, both, inserted_before, wrapped
from surefit.source.patches import Edit
from surefit.source.reading import Source, dotted

RULE = Rule(
    "SF216",
    "column-is-no-list",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"text input must be of type|'Column'",
            "whether the texts are a list, or a column of a dataset or a table",
        ),
    ),
)

TOKENIZING = r"transformers/tokenization|transformers/models/.*/tokenization"
COLUMN = "Column"
OF_ARRAYS = ("Series", "ndarray", "ArrowStringArray", "StringArray", "NumpyExtensionArray")
TEXTS = ("object", "str", "string", "<U", "StringDType")
OF_LISTS = ("append", "extend", "insert", "pop", "remove", "reverse", "sort", "copy", "clear")
OF_TABLES = ("tolist", "to_list", "astype", "shape", "numpy", "mean", "max", "min", "to_numpy")
CHANGING = ("shuffle", "dumps", "dump")
"""Functions that need a list itself: they change it, or write it by its class."""


@dataclass(frozen=True, slots=True)
class Misused:
    """A column in the failing expression, and what needs a list there."""

    node: ast.expr
    value: Value
    needs: str


@RULE.on(Crash)
def a_column_was_no_list(crash: Crash, seen: Recording) -> Iterator[Finding]:
    frame = crash.own_frame
    source = seen.source(frame.place) if frame else None
    node = source.expression_at(frame.span) if source and frame and frame.span else None
    if frame is None or source is None or node is None or not is_cause(crash, seen):
        return
    columns = misused(crash, frame, source, node)
    if not columns:
        return
    origins = [origin(source, one.node) for one in columns]
    first = source.statement_of(origins[0])
    names = spoken(dict.fromkeys(code(source.segment(one.node)) for one in columns))
    kinds = spoken(dict.fromkeys(f"`{one.value.kind}`" for one in columns))
    are = "is a" if len(columns) == 1 else "are each a"
    yield RULE.finding(
        Place(source.file, first.lineno, first.end_lineno if several_lines(first) else None),
        f"{names} {are} {kinds}, and {columns[0].needs} needs a list.",
        facts=tuple(facts(columns, frame)),
        why="A column hands out rows when they are asked for; it has the values of a list, and is"
        " none.",
        fixes=(fix(source, frame, node, columns, origins),),
        python_said=crash.said,
        about=crash.id,
    )


def several_lines(statement: ast.stmt) -> bool:
    return not hasattr(statement, "body") and statement.end_lineno != statement.lineno


def misused(crash: Crash, frame: Frame, source: Source, node: ast.expr) -> list[Misused]:
    if isinstance(node, ast.Call):
        return given(crash, frame, source, node)
    if isinstance(node, ast.BinOp):
        sides = [(one, value_of(frame, one)) for one in (node.left, node.right)]
        return [
            Misused(one, value, f"`{source.segment(node)}`")
            for one, value in sides
            if value and value.kind == COLUMN
        ]
    if isinstance(node, ast.Attribute):
        value = value_of(frame, node.value)
        if value and value.kind == COLUMN and node.attr in (*OF_LISTS, *OF_TABLES):
            return [Misused(node.value, value, f"`.{node.attr}`")]
    return []


def given(crash: Crash, frame: Frame, source: Source, call: ast.Call) -> list[Misused]:
    """Texts for a tokenizer; or anything for a function that changes or writes a list."""
    if isinstance(call.func, ast.Attribute) and crash.kind == "AttributeError":
        return misused(crash, frame, source, call.func)
    beyond = crash.frames[crash.frames.index(frame) + 1 :]
    tokenizes = any(re.search(TOKENIZING, one.place.file) for one in beyond)
    changes = dotted(call.func).rpartition(".")[2] in CHANGING and crash.kind == "TypeError"
    found = []
    for one in (*call.args, *(keyword.value for keyword in call.keywords)):
        value = value_of(frame, one)
        if value and ((tokenizes and is_column(value)) or (changes and value.kind == COLUMN)):
            found.append(Misused(one, value, code(source.segment(call.func))))
    return found


def is_column(value: Value) -> bool:
    """Of texts, where its type is known."""
    if value.kind in OF_ARRAYS:
        return (value.dtype or "").startswith(TEXTS)
    return value.kind == COLUMN


def value_of(frame: Frame, node: ast.expr) -> Value | None:
    text = ast.unparse(node)
    return next((value for value in frame.values if value.text == text), None)


def origin(source: Source, node: ast.expr) -> ast.expr:
    """Where a column got its name; otherwise the place itself."""
    made = definition(source, node) if isinstance(node, ast.Name) else None
    return made if isinstance(made, ast.Subscript | ast.Attribute) else node


def facts(columns: list[Misused], frame: Frame) -> Iterator[Fact]:
    for one in columns:
        yield Fact(code(one.value.text), in_words(one.value))
    yield Fact("fails at", str(frame.place))


def fix(
    source: Source,
    frame: Frame,
    node: ast.expr,
    columns: list[Misused],
    origins: list[ast.expr],
) -> Fix:
    edit = Edit(source.file, ())
    for one, made in zip(columns, origins, strict=True):
        edit = both(edit, as_list(source, made, one.value))
    ways = dict.fromkeys(
        "`.tolist()`" if one.value.kind in OF_ARRAYS else "`list(...)`" for one in columns
    )
    condition = must(source, frame, node, columns, origins)
    if condition is None and len(columns) == 1 and isinstance(columns[0].node, ast.Name):
        edit, condition = beforehand(source, node, columns[0])
    return Fix(f"Make a list of it with {spoken(ways)}.", edit, condition)


def beforehand(source: Source, node: ast.expr, column: Misused) -> tuple[Edit, RowsArrive]:
    """In a statement of its own, where the list can be looked at."""
    name, statement = column.value.text, source.statement_of(node)
    made = f"{name}.tolist()" if column.value.kind in OF_ARRAYS else f"list({name})"
    edit = inserted_before(source, statement, f"{name} = {made}")
    rows = column.value.length or 0
    return edit, RowsArrive(rows, Place(source.file, statement.lineno), (name,), at=0)


def as_list(source: Source, node: ast.expr, value: Value) -> Edit:
    if value.kind in OF_ARRAYS:
        return appended(source, node, ".tolist()")
    return wrapped(source, node, "list(", ")")


def must(
    source: Source, frame: Frame, node: ast.expr, columns: list[Misused], origins: list[ast.expr]
) -> RowsArrive | None:
    """As many rows as the column has: in the list itself, or in what is made of it."""
    rows = columns[0].value.length or (columns[0].value.shape or (0,))[0]
    statement = source.statement_of(node)
    line = Place(source.file, statement.lineno)
    if origins[0] is not columns[0].node:
        return RowsArrive(rows, line, (columns[0].value.text,), at=0)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    names = [dotted(target) for target in targets]
    if len(names) != 1 or not names[0]:
        return None
    if isinstance(node, ast.BinOp):
        every = [value_of(frame, one) for one in (node.left, node.right)]
        rows = sum(value.length or 0 for value in every if value)
    return RowsArrive(rows, line, (names[0],), after=True, at=0)
