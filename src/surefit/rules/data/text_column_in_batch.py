"""A column of text is still among the rows when a batch is made of them.

## What happens
Tokenizing adds columns to a dataset and takes none away: the text that they were made of stays.
With `remove_unused_columns=False`, or in a loop of your own, nobody drops it, and a collator that
makes a tensor of every column fails on the strings. Python advises padding and truncation, which
were not it.

## Why it matters
The message sends people to the tokenizer's settings, where nothing is wrong. Every collator that
pads fails on it in the same way.

## What to do
Take the text away once it is tokenized: `map(..., remove_columns=["text"])`. In a dataset of your
own do not give it back; if you want to look at it later, keep it outside of the rows.

## How it is recognised
The rows that the failing collator was given have a column of strings, of lists of strings or of
dictionaries; or a loop moves a batch to a device and one of its columns is a list of strings. The
labels themselves are another matter.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.condition import All, Condition
from surefit.doctor.conditions.inputs import RowsReachModel
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import CollatorSeen, Crash, Frame, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import some, spoken
from surefit.evidence.frame_names import named
from surefit.evidence.row_makers import columns_of, given_function, maps, row_makers
from surefit.source.dictionary_edits import entries_removed
from surefit.source.edits import appended, argument_added, removed
from surefit.source.patches import Edit, both
from surefit.source.reading import Source, called

RULE = Rule(
    "SF203",
    "text-column-in-batch",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"too many dimensions 'str'|excessive nesting|'list' object has no attribute 'to'",
            "whether the rows still have a column of strings: `map` without `remove_columns`, and"
            " `remove_unused_columns=False`",
        ),
    ),
)

LABELS = ("label", "labels", "label_ids")
KEEPS_TEXT = ("default_collate",)
"""Leaves strings as they are; what fails there is something else."""
PASSES_OVER = ("default_data_collator", "DefaultDataCollator")
"""Leave strings out, though not lists of strings."""
ONLY_YOU = "where the column comes from was not found in your source"


@dataclass(frozen=True, slots=True)
class Kept:
    """The line that leaves the text among the rows, and a change that takes it away."""

    place: Place
    edit: Edit | None
    text: str
    mapped: bool = True
    """By `map`, which keeps what it is not told to take away."""


@RULE.on(Crash)
def text_could_not_become_a_tensor(crash: Crash, seen: Recording) -> Iterator[Finding]:
    collator = crash.collator
    if collator is None or not is_cause(crash, seen):
        return
    texts = [column for column in collator.texts if is_taken(collator, column)]
    if not texts or set(texts) & set(LABELS) or not is_about_text(crash, collator, texts):
        return
    kept = kept_at(seen, texts)
    if kept is None and crash.own_frame is None:
        return
    name = f"`{collator.kind}` makes a tensor of every column"
    yield from told(crash, seen, texts, name, kept, of_these_rows(collator), facts(collator, texts))


@RULE.on(Crash)
def text_could_not_be_moved(crash: Crash, seen: Recording) -> Iterator[Finding]:
    """A loop of the user's own calls a tensor's method on every column of a batch."""
    frame = crash.own_frame
    if frame is None or crash.collator is not None or not is_cause(crash, seen):
        return
    columns = [column for column in moved(frame) if column not in LABELS]
    if not columns:
        return
    kept = kept_at(seen, columns)
    shown = [Fact(f"`{column}` in the batch", "a list of strings") for column in columns]
    name = f"`{frame.expression}` is for tensors"
    yield from told(crash, seen, columns, name, kept, of_this_batch(frame), shown)


def told(
    crash: Crash,
    seen: Recording,
    texts: list[str],
    taker: str,
    kept: Kept | None,
    must: Condition | None,
    shown: list[Fact],
) -> Iterator[Finding]:
    columns = spoken(f"`{one}`" for one in texts)
    named = (
        f"The text column {columns} is" if len(texts) == 1 else f"The text columns {columns} are"
    )
    assert crash.own_frame is not None
    place = kept.place if kept else crash.own_frame.place
    yield RULE.finding(
        place,
        f"{named} still in every row, and {taker}.",
        facts=(*shown, *unused(seen)),
        why="Tokenizing adds columns and takes none away; no tensor can be made of strings."
        if kept is None or kept.mapped
        else "No tensor can be made of strings: a row for training holds numbers alone.",
        fixes=(fix_of(kept, texts, must),),
        python_said=crash.chain[0].said if crash.chain else crash.said,
        about=crash.id,
    )


def fix_of(kept: Kept | None, texts: list[str], must: Condition | None) -> Fix:
    if kept is None or kept.edit is None:
        text = kept.text if kept else f"Take {some(texts)} away: `remove_columns={texts}`."
        return Fix(text, why_not_tried=ONLY_YOU)
    if must is None:
        return Fix(kept.text, kept.edit, why_not_tried="no column of tokens is known to compare")
    return Fix(kept.text, kept.edit, must)


def is_taken(collator: CollatorSeen, column: str) -> bool:
    """A named column that this collator tries to make a tensor of."""
    passed_over = collator.kind in PASSES_OVER and "str" in collator.kinds[column]
    return not column.isdigit() and column != "row" and not passed_over


def is_about_text(crash: Crash, collator: CollatorSeen, texts: list[str]) -> bool:
    """A library's collator makes tensors of all columns; a function of the user's must have handed
    the rows on, or have had this column in hand."""
    if not collator.own:
        return collator.kind not in KEEPS_TEXT
    frame = crash.own_frame
    if frame is None:
        return False
    if any(one.function.endswith(".pad") for one in crash.frames):
        return any(is_texts(one) for one in crash.frames[-1].values)
    last = crash.frames[-1]
    if frame is not last and "tensor" not in (last.expression or last.line):
        return (
            False  # a tokenizer was given the text, as it should be, and fails for another reason
        )
    in_hand = {value.scalar for value in frame.values if isinstance(value.scalar, str)}
    return bool(in_hand & set(texts)) or any(repr(one) in unquoted(frame) for one in texts)


def unquoted(frame: Frame) -> str:
    return (frame.expression or frame.line).replace('"', "'")


def facts(collator: CollatorSeen, texts: list[str]) -> list[Fact]:
    shown = [
        Fact(f"`{column}`", f"{kinds(collator, column)} in each of {collator.rows} rows")
        for column in texts
    ]
    others = [column for column in collator.kinds if column not in texts]
    return [*shown, Fact("the other columns", ", ".join(others))] if others else shown


def kinds(collator: CollatorSeen, column: str) -> str:
    found = spoken(collator.kinds[column])
    return f"{found} of text" if found in ("list", "tuple") else found


def unused(seen: Recording) -> Iterator[Fact]:
    """A Trainer drops what the model does not take, unless it is told not to."""
    for script in seen.all(Script):
        source = seen.source(script.file)
        for node in source.every(ast.keyword) if source else ():
            off = isinstance(node.value, ast.Constant) and node.value.value is False
            if node.arg == "remove_unused_columns" and off:
                yield Fact("it is kept by", f"`remove_unused_columns=False`, {at(script, node)}")
                return


def at(script: Script, node: ast.keyword) -> Place:
    return Place(script.file, node.lineno)


def of_these_rows(collator: CollatorSeen) -> Condition | None:
    """The columns that a tokenizer made, or another of one shape, reach the model whole."""
    conditions = [
        RowsReachModel((collator.rows, None), collator.totals[column], sum(lengths), column)
        for column, lengths in collator.lengths.items()
        if column in collator.totals and column in (*collator.pads, "input_ids")
    ]
    for column, shapes in collator.shapes.items() if not conditions else ():
        if column not in (*collator.texts, *LABELS) and len(set(shapes)) == 1:
            shape = (collator.rows, *shapes[0])
            return RowsReachModel(shape, collator.totals.get(column))
    return All(tuple(conditions)) if conditions else None


def of_this_batch(frame: Frame) -> Condition | None:
    """The other columns of the batch reach the model as they are."""
    shapes = [
        one.shape for name, one in named(frame) if "[" in name and one.shape and len(one.shape) > 1
    ]
    return All(tuple(RowsReachModel(shape) for shape in shapes)) if shapes else None


def moved(frame: Frame) -> list[str]:
    """Columns of a batch that hold lists of strings, where the failing expression calls a method
    of such a list."""
    receiver = (frame.expression or "").partition(".")[0]
    value = next((one for one in frame.values if one.text == receiver), None)
    if value is None or not is_texts(value) or "." not in (frame.expression or ""):
        return []
    return [
        name.rpartition("[")[2].strip("]'\"")
        for name, one in named(frame)
        if one.identity == value.identity and "[" in name
    ]


def is_texts(value: object) -> bool:
    members = getattr(value, "members", {})
    return bool(members) and all(isinstance(one.scalar, str) for one in members.values())


def kept_at(seen: Recording, texts: list[str]) -> Kept | None:
    for script in seen.all(Script):
        source = seen.source(script.file)
        kept = (by_map(source, texts) or by_dataset(source, texts)) if source else None
        if kept is not None:
            return kept
    return None


def by_map(source: Source, texts: list[str]) -> Kept | None:
    """The calls of `map` that make columns of the text and leave it where it is."""
    calls = [call for call in maps(source) if leaves_text(source, call, texts)]
    last = [call for call in calls if not any(call in ast.walk(one.func) for one in calls)]
    if not last:
        return None
    place = Place(source.file, last[0].lineno, last[0].end_lineno)
    names = "[" + ", ".join(f'"{one}"' for one in texts) + "]"
    if any(is_read_later(source, call, texts) for call in last):
        return given_without(source, names, place)
    edit = argument_added(source, last[0], "remove_columns", names)
    for call in last[1:]:
        edit = both(edit, argument_added(source, call, "remove_columns", names))
    return Kept(place, edit, f"Take it away once it is tokenized: `remove_columns={names}`.")


def leaves_text(source: Source, call: ast.Call, texts: list[str]) -> bool:
    """It reads one of the columns, gives none of them back, and takes no column away."""
    if source.argument(call, "remove_columns") is not None:
        return False
    function = given_function(source, call)
    if function is None or set(columns_of(source, function)) & set(texts):
        return False
    return any(
        isinstance(node, ast.Constant) and node.value in texts for node in ast.walk(function)
    )


def is_read_later(source: Source, call: ast.Call, texts: list[str]) -> bool:
    """The mapped rows are asked for their text."""
    statement = source.statement_of(call)
    names = {ast.unparse(one) for one in getattr(statement, "targets", [])}
    return any(
        isinstance(node, ast.Subscript)
        and node.lineno > statement.lineno
        and ast.unparse(node.value) in names
        and isinstance(node.slice, ast.Constant)
        and node.slice.value in texts
        for node in source.nodes
    )


def given_without(source: Source, names: str, place: Place) -> Kept:
    """Where the rows are handed over, without the text."""
    text = f"Hand the rows over without it: `.remove_columns({names})`."
    for call in source.every(ast.Call):
        given = source.argument(call, "train_dataset")
        if given is None and called(call) == "DataLoader":
            given = source.argument(call, "dataset", 0)
        if given is not None:
            edit = appended(source, given, f".remove_columns({names})")
            return Kept(place, edit, text)
    return Kept(place, None, text)


def by_dataset(source: Source, texts: list[str]) -> Kept | None:
    """The entry of a row that the user's own dataset gives back."""
    for maker in row_makers(source):
        columns = columns_of(source, maker.function)
        if not set(texts) <= set(columns) or maker.mapped is not None:
            continue
        first = columns[texts[0]]
        place = Place(source.file, first.lineno)
        text = f"Do not give {some(texts)} back from `{maker.name}`."
        return Kept(place, without(source, columns, texts), text, mapped=False)
    return None


def without(source: Source, columns: dict[str, ast.expr], texts: list[str]) -> Edit | None:
    """The row without these columns: entries of one dictionary, or statements that add them."""
    parents = [source.parents[columns[one]] for one in texts]
    first = parents[0]
    if isinstance(first, ast.Dict) and all(one is first for one in parents):
        return entries_removed(source, first, texts)
    added = [one for one in parents if isinstance(one, ast.Assign) and adds_a_column(one)]
    if len(added) < len(texts):
        return None
    edit = removed(source, added[0])
    for one in added[1:]:
        edit = both(edit, removed(source, one))
    return edit


def adds_a_column(statement: ast.Assign) -> bool:
    return isinstance(statement.targets[0], ast.Subscript)
