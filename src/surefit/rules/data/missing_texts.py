"""Texts that are missing in some rows reach a tokenizer, which takes nothing but text.

## What happens
An empty cell of a CSV file is read as `nan`, a JSON `null` as None. A tokenizer refuses the whole
batch for one of them (`TextEncodeInput must be Union[...]`), and code that works on the text itself
says `'float' object has no attribute 'lower'`.

## Why it matters
`str()` around the texts silences it and teaches the model the words `nan` and `None`. The message
names neither the column nor the rows, and a few rows of many are enough.

## What to do
Leave the rows out where the data is read (`dropna(subset=[...])`, `filter`), or give them a text
there, if an empty one means something (`fillna("")`).

## How it is recognised
Among the texts that the failing call was given are some that are None or nan, or the value whose
text was asked for is one of these. Tables and lists of rows that are alive in the process tell in
which column values are missing, and in how many rows. The text of the exception is not looked at.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.left_out import RowsLeftOut
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Frame, Question, Script, Value
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, counted, listed, spoken
from surefit.evidence.origins import names_in
from surefit.evidence.tables_read import PANDAS, Reading, assigned, readings
from surefit.source.edits import inserted_after
from surefit.source.patches import Edit
from surefit.source.reading import Source

RULE = Rule(
    "SF214",
    "missing-texts",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"TextEncodeInput must be|text input must be of type|You need to specify either `text`",
            "whether some of the texts are None or nan",
        ),
        Symptom(
            r"AttributeError: '(float|NoneType)' object has no attribute '"
            r"(lower|strip|split|replace|upper|encode|startswith)'|expected string or bytes-like",
            "whether the value comes from a column in which some rows are empty",
        ),
    ),
)

TOKENIZING = r"transformers/tokenization|transformers/models/.*/tokenization|/tokenizers/"
TOKENIZERS = ("Tokenizer", "BertWordPieceTokenizer", "ByteLevelBPETokenizer")
MISSING = ("NoneType", "nan")
LONGEST = 60


@dataclass(frozen=True, slots=True)
class Given:
    """Texts that a call was given, some of which are none."""

    text: str
    count: int
    missing: int
    kind: str
    at: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """A table or list of rows that was alive, with a column in which texts are missing."""

    kind: str
    column: str
    rows: int
    missing: int
    first: tuple[int, ...]
    name: str


@RULE.on(Crash)
def a_text_was_missing(crash: Crash, seen: Recording) -> Iterator[Finding]:
    frame = crash.own_frame
    if frame is None or not is_cause(crash, seen):
        return
    tokenized = given_to_tokenizer(crash, frame)
    given = tokenized or worked_on_as_text(frame, seen.source(frame.place))
    if given is None:
        return
    tables = with_missing_texts(crash, frame, seen)
    if tables is None or (not tables and not tokenized):
        return
    reading = read_at(seen, frame, tables) if tables else None
    source = reading[0] if reading else None
    statement = reading[1].statement if reading else None
    place = frame.place
    if source and statement:
        place = Place(source.file, statement.lineno, end_of(statement))
    yield RULE.finding(
        place,
        headline(frame, given, tables),
        facts=tuple(facts(frame, given, tables, reading)),
        why="One value that is no text makes the whole call fail. `str()` around it would train on"
        f" the word `{'None' if given.kind == 'NoneType' else 'nan'}`.",
        fixes=tuple(fixes(tables, reading)),
        python_said=crash.said,
        about=crash.id,
    )


def given_to_tokenizer(crash: Crash, frame: Frame) -> Given | None:
    """A tokenizer was called, with None or nan among its texts or in place of one."""
    beyond = crash.frames[crash.frames.index(frame) + 1 :]
    direct = any(value.kind in TOKENIZERS for value in frame.values) and not beyond
    if not direct and not any(re.search(TOKENIZING, one.place.file) for one in beyond):
        return None
    for one in (frame, *crash.frames[-1:]):
        for value in in_expression(one):
            if value.kind in ("list", "tuple") and (found := missing_in(value)):
                return found
    call = parsed(frame.expression)
    for argument in call.args if isinstance(call, ast.Call) else ():
        one_text = value_of(frame, ast.unparse(argument))
        if one_text and is_missing(one_text):
            return Given(one_text.text, 1, 1, kind_of(one_text))
    return None


def in_expression(frame: Frame) -> Iterator[Value]:
    names = names_in(frame.expression or frame.line)
    yield from (value for value in frame.values if value.text in names)


def missing_in(value: Value) -> Given | None:
    """Of a list of texts: how many are none of these."""
    missing = {kind: value.kinds[kind] for kind in MISSING if kind in value.kinds}
    if not missing or set(value.kinds) - {"str", *MISSING}:
        return None
    odd = value.odd if value.kinds.get("str", 0) >= sum(missing.values()) else ()
    kind = max(missing, key=lambda one: missing[one])
    return Given(value.text, value.length or 0, sum(missing.values()), kind, odd)


def worked_on_as_text(frame: Frame, source: Source | None) -> Given | None:
    """`text.lower` of a text that is None or nan, or a regular expression searched in it."""
    node = parsed(frame.expression)
    call = node if isinstance(node, ast.Call) else None
    asked = call.func if call else node
    found: list[ast.expr] = []
    if isinstance(asked, ast.Attribute) and hasattr(str, asked.attr):
        found.append(asked.value)
    if call and source and is_of_re(source, frame, call):
        found += call.args
    for one in found:
        value = value_of(frame, ast.unparse(one))
        if value and is_missing(value):
            return Given(value.text, 1, 1, kind_of(value))
    return None


def is_of_re(source: Source, frame: Frame, call: ast.Call) -> bool:
    node = source.expression_at(frame.span) if frame.span else None
    return (
        isinstance(node, ast.Call) and source.imported(node.func).startswith("re.") and bool(call)
    )


def parsed(text: str | None) -> ast.expr | None:
    try:
        return ast.parse(text or "", mode="eval").body
    except SyntaxError:
        return None


def value_of(frame: Frame, text: str) -> Value | None:
    return next((value for value in frame.values if value.text == text), None)


def is_missing(value: Value) -> bool:
    return value.kind == "NoneType" or kind_of(value) == "nan"


def kind_of(value: Value) -> str:
    number = value.scalar
    return "nan" if isinstance(number, float) and number != number else value.kind


def with_missing_texts(crash: Crash, frame: Frame, seen: Recording) -> list[Table] | None:
    """Tables with gaps in a column of texts that the source names; None: not yet known."""
    said = seen.ask(Question("missing-texts", crash.id))
    if said is None and any(one.kind == "missing-texts" for one in seen.open_questions):
        return None
    found = [
        Table(
            str(one["kind"]),
            str(one["column"]),
            int(one["rows"]),
            int(one["missing"]),
            tuple(one["first"]),
            str(one["name"]),
        )
        for one in (said or {}).get("tables", ())
    ]
    named = [one for one in found if one.column in words_of(seen)]
    near = [one for one in named if one.column in words_in(frame, seen)]
    columns = {one.column for one in near or named}
    return [one for one in named if one.column in columns]


def words_of(seen: Recording) -> set[str]:
    """Strings and attributes that the user's own files write."""
    found: set[str] = set()
    for script in seen.all(Script):
        source = seen.source(script.file)
        found |= set(words(source.tree)) if source else set()
    return found


def words_in(frame: Frame, seen: Recording) -> set[str]:
    """The same in the failing statement, and in the statements that its names come from."""
    source = seen.source(frame.place)
    statement = source.statement_at(frame.place.line or 0) if source else None
    if source is None or statement is None or hasattr(statement, "body"):
        return set()
    found = set(words(statement))
    for name in [node for node in ast.walk(statement) if isinstance(node, ast.Name)]:
        for bound in source.bound_by(name):
            if isinstance(bound, ast.Assign | ast.AnnAssign):
                found |= set(words(bound))
    return found


def words(node: ast.AST) -> Iterator[str]:
    for one in ast.walk(node):
        if isinstance(one, ast.Constant) and isinstance(one.value, str):
            yield one.value
        elif isinstance(one, ast.Attribute):
            yield one.attr


def read_at(
    seen: Recording, frame: Frame, tables: Sequence[Table]
) -> tuple[Source, Reading] | None:
    """The statement that reads the table with the gaps: by its name, or because there is one."""
    files = dict.fromkeys([frame.place.file, *(script.file for script in seen.all(Script))])
    sources = [source for file in files if (source := seen.source(file))]
    names = {one.name for one in tables if one.name}
    for source in sources:
        found = readings(source)
        same = [one for one in found if one.name in names]
        first = [one for one in found if one.library == found[0].library]
        if len(same) == 1 or len(first) == 1:
            return source, (same if len(same) == 1 else first)[0]
        whole = largest(tables).values()
        lists = {one.name for one in whole if one.kind == "list" and one.name}
        written = [one for name in lists for one in assigned(source, name)]
        if not found and len(written) == 1:
            return source, written[0]
    return None


def end_of(statement: ast.stmt) -> int | None:
    return statement.end_lineno if statement.end_lineno != statement.lineno else None


def largest(tables: Sequence[Table]) -> dict[str, Table]:
    """Column -> the table with most rows that has it."""
    found: dict[str, Table] = {}
    for one in sorted(tables, key=lambda table: -table.rows):
        found.setdefault(one.column, one)
    return found


def headline(frame: Frame, given: Given, tables: Sequence[Table]) -> str:
    failing = " ".join((frame.expression or frame.line).split())
    short = failing if len(failing) <= LONGEST else f"{failing[: LONGEST - 1]}…"
    kind = "None" if given.kind == "NoneType" else given.kind
    columns = largest(tables)
    if not columns:
        what = f"{given.missing:,} of {counted(given.count, 'text')}"
        are = "is" if given.missing == 1 else "are"
        return f"{what} {are} {kind}, and {code(short)} takes text only."
    gaps = [
        f"{one.missing:,} of {one.rows:,} rows have no `{one.column}`" for one in columns.values()
    ]
    return f"{spoken(gaps)}: it is {kind} there, and {code(short)} takes text only."


def facts(
    frame: Frame, given: Given, tables: Sequence[Table], reading: tuple[Source, Reading] | None
) -> Iterator[Fact]:
    for column, table in largest(tables).items():
        yield Fact(
            f"rows without `{column}`",
            f"{listed(table.first)}, from 0; {table.missing:,}"
            f" in all, in a {table.kind} of {counted(table.rows, 'row')}",
        )
    if given.count > 1:
        at = f", at {listed(given.at)}" if given.at else ""
        yield Fact("given here", f"{counted(given.count, 'text')}, {given.missing:,} missing{at}")
    if reading:
        yield Fact("fails at", f"{frame.place}")


def fixes(tables: Sequence[Table], reading: tuple[Source, Reading] | None) -> Iterator[Fix]:
    columns = largest(tables)
    lost = lost_rows(list(columns.values()))
    names = spoken(code(column) for column in columns)
    if reading is None or not columns:
        yield Fix(
            "Leave out the rows without a text where the data is read: `dropna(subset=[...])` of a"
            " DataFrame, `filter` of a Dataset.",
            why_not_tried="the statement that reads the texts was not found in your source",
        )
        return
    source, made = reading
    edit, api = without_missing(source, made, list(columns))
    then = made.following
    yield Fix(
        f"Leave out the rows without {names} where they are read, with {code(api)}: {lost}.",
        edit,
        RowsLeftOut(
            made.name,
            tuple(columns),
            Place(source.file, made.statement.lineno),
            then,
            max(one.missing for one in columns.values()),
        )
        if then
        else None,
    )
    filled = '`fillna("")`' if made.library == PANDAS else "an empty string"
    yield Fix(
        f"If an empty text means something, give it to these rows there: {filled}.",
        why_not_tried="only you know what an empty text means",
    )


def lost_rows(tables: Sequence[Table]) -> str:
    first = max(tables, key=lambda one: one.missing, default=None)
    if first is None:
        return ""
    if len(tables) == 1:
        return f"{first.missing:,} of {counted(first.rows, 'row')} are lost"
    most = sum(one.missing for one in tables)
    return f"at least {first.missing:,} and at most {most:,} of {first.rows:,} rows are lost"


def without_missing(source: Source, made: Reading, columns: list[str]) -> tuple[Edit | None, str]:
    name = made.name
    listed_columns = ", ".join(f'"{column}"' for column in columns)
    test = " and ".join(f'row["{column}"] is not None' for column in columns)
    if made.library == PANDAS:
        text = f"{name} = {name}.dropna(subset=[{listed_columns}]).reset_index(drop=True)"
        api = f"dropna(subset=[{listed_columns}])"
    elif made.library:
        text, api = f"{name} = {name}.filter(lambda row: {test})", f"filter(lambda row: {test})"
    else:
        test = " and ".join(f'isinstance(row["{column}"], str)' for column in columns)
        text, api = f"{name} = [row for row in {name} if {test}]", f"if {test}"
    try:
        return inserted_after(source, made.statement, text), api
    except ValueError:
        return None, api
