"""Every row is a batch of one, so that batches have an axis too many.

## What happens
`return_tensors="pt"` makes a batch, also of a single text or picture: `input_ids` is (1, 40), not
(40,). The loader puts one axis more in front, and (4, 1, 40) reaches a model that takes (4, 40).
Python says `too many values to unpack`, or something about masks, dimensions or nesting.

## Why it matters
The exception is raised deep in the library, far from the line that made the axis. Some models pass
the axis on and fail only in the loss, or not at all.

## What to do
Take the axis away where the row is made: `.squeeze(0)`, or no `return_tensors` and no list around a
single text.

## How it is recognised
A column reaches the model, or the collator, with an axis of size 1 where the tokens should be, and
the function that makes the rows (`__getitem__`, or one given to `map` row by row) makes this axis
for this column: by `return_tensors`, by `unsqueeze(0)`, or by a list of one, written as such or
filled by one `append`. A picture's channel axis of size 1 and one that the model was never called
with are passed over.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.condition import All
from surefit.doctor.conditions.inputs import RowsReachModel, inputs_of
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, InputsSeen, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import shape_of
from surefit.evidence.padding_edits import loader_call, padding_given, trainer_call
from surefit.evidence.ragged_columns import ragged_columns
from surefit.evidence.row_makers import EVERY, RowMaker, columns_of, reached_from, row_makers
from surefit.source.definitions import definition
from surefit.source.edits import appended, argument_removed, inserted_after, replaced, wrapped
from surefit.source.patches import Edit, both
from surefit.source.reading import Source, called

RULE = Rule(
    "SF202",
    "extra-axis-in-rows",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"too many values to unpack|excessive nesting|got 5D|must match the size of tensor",
            "whether `input_ids` reaches the model as [batch, 1, tokens]: `return_tensors` in"
            " `__getitem__` or in a function given to `map` row by row",
        ),
    ),
)

ROWS_AND_ONE = 3
"""Axes of a batch with an axis too many, at least: rows, the one, and tokens."""
TENSORS = ("tensor", "as_tensor", "LongTensor", "array", "asarray", "from_numpy", "stack")


@dataclass(frozen=True, slots=True)
class Extra:
    """A column with an axis too many, as it was measured."""

    column: str
    shape: tuple[int, ...]
    """Of the batch, as it reached the model or would have."""
    wanted: tuple[int, ...]
    total: int | None
    elements: int | None = None
    whole: bool = True
    """It holds whole numbers."""


@dataclass(frozen=True, slots=True)
class Made:
    """Where a row's column gets its axis."""

    maker: RowMaker
    node: ast.expr
    """The call or list that makes it."""
    value: ast.expr
    """The column in what is given back."""
    column: str
    how: str


@RULE.on(Crash)
def rows_are_batches_of_one(crash: Crash, seen: Recording) -> Iterator[Finding]:
    extras = measured(crash, seen) if is_cause(crash, seen) else []
    for script in seen.all(Script) if extras else ():
        source = seen.source(script.file)
        made = made_by(source, extras) if source else []
        if source is None or not made:
            continue
        first = made[0]
        yield RULE.finding(
            place_of(source, first),
            headline(first, extras),
            facts=tuple(facts(source, made, extras)),
            why="A loader puts the axis of the batch in front; a row must come without one.",
            fixes=tuple(fixes(crash, source, made, extras)),
            python_said=crash.said,
            about=crash.id,
        )
        return


def measured(crash: Crash, seen: Recording) -> list[Extra]:
    """Columns with an axis of 1 behind that of the rows, in the batch or in the rows of it."""
    if crash.collator is not None:
        return list(in_rows(crash))
    calls = [call for call in inputs_of(seen, crash.process.rank) if call.step == crash.steps]
    if not calls or not is_below_a_model(crash):
        return []
    return list(in_batch(calls[-1]))


def is_below_a_model(crash: Crash) -> bool:
    """The model was being called, or what it gave back is put into a loss."""
    return any("torch/nn/" in frame.place.file for frame in crash.frames)


def in_rows(crash: Crash) -> Iterator[Extra]:
    """At a collator: every row of a column has a first axis of 1, and more behind it."""
    assert crash.collator is not None
    for column, shapes in crash.collator.shapes.items():
        if not all(len(shape) > 1 and shape[0] == 1 for shape in shapes):
            continue
        rows, longest = len(shapes), max(shape[1] for shape in shapes)
        rest = shapes[0][2:]
        whole = column in crash.collator.totals
        yield Extra(
            column,
            (rows, 1, longest, *rest),
            (rows, longest, *rest),
            crash.collator.totals.get(column),
            sum(shape[1] for shape in shapes) if whole and not rest else None,
            whole,
        )


def in_batch(call: InputsSeen) -> Iterator[Extra]:
    for column, shape in call.shapes.items():
        if len(shape) >= ROWS_AND_ONE and shape[1] == 1:
            total = call.totals.get(column)
            wanted = (shape[0], *shape[2:])
            yield Extra(column, shape, wanted, total, whole=total is not None)


def made_by(source: Source, extras: list[Extra]) -> list[Made]:
    """For each of them the place in a function that makes rows where it gets its axis."""
    for maker in row_makers(source):
        columns = columns_of(source, maker.function)
        named = [one.column if one.column in columns else EVERY for one in extras]
        if not all(column in columns for column in named):
            named = still_with_axis(source, columns, extras[0])
        if len(named) == len(extras):
            made = [
                axis_of(source, maker, column, columns[column], extra)
                for column, extra in zip(named, extras, strict=True)
            ]
            if all(made):
                return [one for one in made if one]
    return []


def still_with_axis(source: Source, columns: dict[str, ast.expr], extra: Extra) -> list[str]:
    """Columns that are made with the axis and keep it: rows that the loop takes apart and gives to
    the model under other names."""
    return [
        column
        for column, value in columns.items()
        if any(axis_made(source, node, value, extra) for node in reached_from(source, value))
        and not any(takes_axis_away(node) for node in reached_from(source, value))
    ]


def takes_axis_away(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return called(node) in ("squeeze", "flatten", "view", "reshape", "ravel", "tolist")
    return isinstance(node, ast.Subscript) and is_zero([node.slice])


def axis_of(
    source: Source, maker: RowMaker, column: str, value: ast.expr, extra: Extra
) -> Made | None:
    for node in reached_from(source, value):
        how = axis_made(source, node, value, extra)
        if how and isinstance(node, ast.expr):
            return Made(maker, node, value, column, how)
    return None


def appended_once(source: Source, value: ast.AST | None) -> ast.expr | None:
    """What a list that began empty was given, once and outside of any loop: `outer.append(x)`."""
    made = definition(source, value) if isinstance(value, ast.Name) else None
    if not isinstance(value, ast.Name) or not isinstance(made, ast.List) or made.elts:
        return None
    calls = [
        node
        for node in ast.walk(source.scope_of(value))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and ast.unparse(node.func.value) == value.id
    ]
    if len(calls) != 1 or called(calls[0]) != "append" or len(calls[0].args) != 1:
        return None
    statement: ast.AST = source.statement_of(calls[0])
    apart = source.parents[statement] is not source.parents[source.statement_of(made)]
    return None if apart else calls[0].args[0]


def axis_made(source: Source, node: ast.AST, value: ast.expr | None, extra: Extra) -> str:
    """How an expression makes an axis of 1, in words; empty where it makes none."""
    if isinstance(node, ast.Call):
        given = source.argument(node, "return_tensors")
        if isinstance(given, ast.Constant) and isinstance(given.value, str):
            return f"`return_tensors={source.segment(given)}` makes a batch of one"
        if extra.whole and called(node) == "unsqueeze" and is_zero(node.args[:1]):
            return "`unsqueeze(0)` puts an axis in front"
        if extra.whole and (called(node) in TENSORS or node is value) and one_in_a_list(node):
            return "the list around it is an axis of its own"
    if extra.whole and isinstance(node, ast.List) and node is value and len(node.elts) == 1:
        return "the list around it is an axis of its own"
    if extra.whole and node is value and appended_once(source, node) is not None:
        return "a list that is given one list is an axis of its own"
    if extra.whole and isinstance(node, ast.Subscript) and is_none(node.slice):
        return "`[None]` puts an axis in front"
    return ""


def is_zero(nodes: list[ast.expr]) -> bool:
    return [one.value for one in nodes if isinstance(one, ast.Constant)] == [0]


def is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def one_in_a_list(call: ast.Call) -> bool:
    first = call.args[0] if call.args else None
    return isinstance(first, ast.List) and len(first.elts) == 1


def place_of(source: Source, made: Made) -> Place:
    """Where the axis is made; if other columns lose it again, where this one does not."""
    node = made.node
    columns = columns_of(source, made.maker.function)
    others = [list(reached_from(source, one)) for one in columns.values() if one is not made.value]
    if any(node in nodes and any(map(takes_axis_away, nodes)) for nodes in others):
        kept = definition(source, made.value) if isinstance(made.value, ast.Name) else made.value
        node = kept if kept is not None else made.value
    return Place(source.file, node.lineno, node.end_lineno)


def headline(made: Made, extras: list[Extra]) -> str:
    extra = extras[0]
    name = "the function given to `map`" if made.maker.name == "lambda" else f"`{made.maker.name}`"
    column = "the batch" if extra.column.isdigit() else f"`{extra.column}`"
    return (
        f"{name} gives every row an extra axis: {column} comes to {shape_of(extra.shape)}, not to"
        f" {shape_of(extra.wanted)}."
    ).replace("the function", "The function", 1 if name.startswith("the") else 0)


def facts(source: Source, made: list[Made], extras: list[Extra]) -> Iterator[Fact]:
    for one in extras:
        name = "the batch" if one.column.isdigit() else f"`{one.column}`"
        yield Fact(name, f"{shape_of(one.shape)}: axis 1 has size 1")
    node = made[0].node
    yield Fact("the axis", f"{made[0].how}, at {Place(source.file, keyword_line(node))}")


def keyword_line(node: ast.expr) -> int:
    """Of `return_tensors`, where a call has it on a line of its own."""
    for one in node.keywords if isinstance(node, ast.Call) else ():
        if one.arg == "return_tensors":
            return one.lineno
    return node.lineno


def fixes(crash: Crash, source: Source, made: list[Made], extras: list[Extra]) -> Iterator[Fix]:
    text, edit = change(source, made)
    wanted = shape_of(extras[0].wanted)
    padding, padded = padding_too(crash, source)
    if padded is not None:
        edit = both(edit, padded)
        text = f"{text}. {padding}"
    must = All(
        tuple(
            RowsReachModel(
                one.wanted,
                one.total,
                one.elements,
                None if one.column.isdigit() else one.column,
            )
            for one in extras
        )
    )
    yield Fix(f"{text}, so that {wanted} reaches the model.", edit, must)


def padding_too(crash: Crash, source: Source) -> tuple[str, Edit | None]:
    """Without their axis the rows still differ in length, and the collator pads nothing."""
    collator = crash.collator
    if collator is None or collator.own or collator.pads or crash.own_frame is None:
        return "", None
    shapes = {column: tuple(one[1:] for one in rows) for column, rows in collator.shapes.items()}
    ragged = ragged_columns(replace(collator, shapes=shapes))
    place = collator.chosen_at or crash.own_frame.place
    call = loader_call(source, place) or trainer_call(source)
    return padding_given(source, call, collator, ragged) if call and ragged else ("", None)


def change(source: Source, made: list[Made]) -> tuple[str, Edit]:
    """What to do in words, and the same as an edit."""
    first = made[0]
    inner = appended_once(source, first.node)
    if inner is not None and len(made) == 1:
        return (
            f"Give `{source.segment(inner)}` itself, not the list around it",
            replaced(source, first.node, source.segment(inner)),
        )
    if isinstance(first.node, ast.List) or is_listed(first.node):
        return "Take the list of one away", all_of([unlisted(source, one) for one in made])
    if first.maker.mapped is not None and can_be_lists(source, first):
        assert isinstance(first.node, ast.Call)
        return "Leave `return_tensors` out", argument_removed(source, first.node, "return_tensors")
    values = list(dict.fromkeys(one.value for one in made))
    if all(one.value is one.node for one in made) and first.column == EVERY:
        return "Take the axis away with `squeeze(0)`", squeezed_rows(source, first)
    return (
        "Take the axis away with `squeeze(0)`",
        all_of([appended(source, value, ".squeeze(0)") for value in values]),
    )


def is_listed(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call)
        and called(node) != "unsqueeze"
        and one_in_a_list(node)
        and (not any(one.arg == "return_tensors" for one in node.keywords))
    )


def unlisted(source: Source, made: Made) -> Edit:
    """`[x]` becomes `x`."""
    outer = made.node.args[0] if isinstance(made.node, ast.Call) else made.node
    assert isinstance(outer, ast.List)
    return replaced(source, outer, source.segment(outer.elts[0]))


def can_be_lists(source: Source, made: Made) -> bool:
    """Nothing in the function asks the result for what only tensors have."""
    if not isinstance(made.node, ast.Call) or "return_tensors" not in source.segment(made.node):
        return False
    methods = {
        node.func.attr
        for node in ast.walk(made.maker.function)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    return not methods & {"clone", "squeeze", "flatten", "view", "to", "masked_fill", "detach"}


def squeezed_rows(source: Source, made: Made) -> Edit:
    """A whole row without the axis: each of its columns."""
    statement = source.statement_of(made.node)
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is made.node:
            loop = f"for name in {name}:\n    {name}[name] = {name}[name].squeeze(0)"
            if is_read_by_attribute(made, name):
                return inserted_after(source, statement, loop)
    return wrapped(source, made.node, "{name: one.squeeze(0) for name, one in ", ".items()}")


def is_read_by_attribute(made: Made, name: str) -> bool:
    return any(
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == name
        and node.attr not in ("items", "keys", "values", "update", "pop")
        for node in ast.walk(made.maker.function)
    )


def all_of(edits: list[Edit]) -> Edit:
    whole = edits[0]
    for one in edits[1:]:
        whole = both(whole, one)
    return whole
