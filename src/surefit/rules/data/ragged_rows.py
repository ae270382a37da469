"""Rows of different lengths are put into one tensor, and nobody pads them.

## What happens
A tensor cannot have rows of different lengths. `DataLoader` without a `collate_fn` only stacks, as
do `default_data_collator`, `torch.stack` and `torch.tensor` in a collator of your own. Python says
`stack expects each tensor to be equal size` or `expected sequence of length 12 at dim 1 (got 9)`.

## Why it matters
It can wait for hours: a batch whose rows happen to be equally long goes through. And a batch size
of 1, which makes the message go away, never stacks anything.

## What to do
Fill the rows of each batch up to its longest: `collate_fn=` with `pad_sequence(batch_first=True)`,
or `DataCollatorWithPadding(tokenizer)`; labels with -100, which cross entropy ignores. Pictures of
different sizes are brought to one size before they become a batch.

## How it is recognised
The rows that the failing collator was given have a column of several shapes which this collator
does not pad; a collator of your own must have failed on that column. Where labels alone differ,
see ragged-labels.
"""

import ast
from collections.abc import Iterator
from dataclasses import replace

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.condition import Condition
from surefit.doctor.conditions.inputs import RowsReachModel
from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import CollatorSeen, Crash, Frame, Value
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, counted, listed, shape_of, spoken
from surefit.evidence.padding_edits import (
    STACKS,
    fillings,
    is_at,
    loader_call,
    padded_instead,
    padding_given,
    stacks,
    trainer_call,
)
from surefit.evidence.ragged_columns import Ragged, ragged_columns
from surefit.evidence.row_makers import columns_of, row_makers
from surefit.source.patches import Edit, both
from surefit.source.reading import Source, called

RULE = Rule(
    "SF206",
    "ragged-rows",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"stack expects each tensor to be equal size|expected sequence of length"
            r"|inhomogeneous shape|each element in list of batch should be of equal size",
            "whether the rows of the batch have different lengths, and whether a `collate_fn` pads"
            " them",
        ),
    ),
)

WHY = "A tensor needs rows of one size, and nothing here makes them so."
ONLY_YOU = "how your rows are made one size only you know"
MOST_SHAPES = 4


@RULE.on(Crash)
def rows_could_not_be_stacked(crash: Crash, seen: Recording) -> Iterator[Finding]:
    """By a collator of a library, which a loader or a Trainer has unless it is given another."""
    collator = crash.collator
    if collator is None or collator.own or not is_cause(crash, seen):
        return
    ragged = ragged_columns(collator)
    if not ragged or all(one.labels for one in ragged) or not crash.own_frame:
        return
    place = chosen_where(collator) or crash.own_frame.place
    source = seen.source(place)
    ragged = called_as(source, crash.own_frame, ragged) if source else ragged
    call = chosen_by(source, place) if source else None
    if call is not None:
        place = Place(place.file, call.lineno, call.end_lineno)
    if source is not None and not ragged[0].only_first_axis:
        place = made_at(source, ragged[0]) or place
    yield RULE.finding(
        place,
        f"{nobody(collator, ragged[0], call)}, and the {counted(collator.rows, 'row')} of this"
        f" batch have {ragged[0].name} of {differing(ragged[0])}.",
        facts=tuple(facts(ragged)),
        why=WHY,
        fixes=tuple(library_fixes(collator, ragged, source, call)),
        python_said=crash.chain[0].said if crash.chain else crash.said,
        about=crash.id,
    )


@RULE.on(Crash)
def rows_were_stacked_by_hand(crash: Crash, seen: Recording) -> Iterator[Finding]:
    """In a collator of the user's, at the call that makes a tensor of the rows."""
    frame, collator = crash.own_frame, crash.collator
    if frame is None or collator is None or not collator.own or not is_cause(crash, seen):
        return
    source = seen.source(frame.place)
    stacked = stacks(source, frame, ragged_columns(collator)) if source else []
    failing = [one for one in stacked if source and is_at(source, one[0], frame)]
    if source is None or not failing:
        return
    call, ragged = failing[0]
    edit = padded_instead(source, call, ragged)
    for other, column in stacked:
        if other is not call:
            edit = both(edit, padded_instead(source, other, column))
    columns = [column for _, column in stacked]
    yield RULE.finding(
        Place(source.file, call.lineno, call.end_lineno),
        f"{code(source.segment(call))} stacks rows that nobody padded: the"
        f" {counted(collator.rows, 'row')} of this batch have {ragged.name} of"
        f" {differing(ragged)}.",
        facts=tuple(facts(columns)),
        why=WHY,
        fixes=(by_hand(source, columns, edit),),
        python_said=crash.said,
        about=crash.id,
    )


@RULE.on(Crash)
def a_list_of_rows_is_no_tensor(crash: Crash, seen: Recording) -> Iterator[Finding]:
    """Outside of any collator: one tensor is to be made of a list with lists of many lengths."""
    frame = crash.own_frame
    if frame is None or crash.collator is not None or not is_cause(crash, seen):
        return
    source = seen.source(frame.place)
    call = call_at(source, frame) if source else None
    if source is None or call is None or frame is not crash.frames[-1]:
        return
    rows = next((one for one in frame.values if one.text == ast.unparse(call.args[0])), None)
    ragged = ragged_value(rows)
    if ragged is None:
        return
    yield RULE.finding(
        Place(source.file, call.lineno, call.end_lineno),
        f"{code(source.segment(call))} stacks rows that nobody padded: the"
        f" {counted(len(ragged.shapes), 'row')} of {ragged.name} have {differing(ragged)}.",
        facts=tuple(facts([ragged])),
        why=WHY,
        fixes=(list_fix(source, call, ragged),),
        python_said=crash.said,
        about=crash.id,
    )


def chosen_where(collator: CollatorSeen) -> Place | None:
    """One that pads was made with a choice in mind; one that only stacks came with its loader."""
    if collator.pads and collator.made_at is not None:
        return collator.made_at
    return collator.chosen_at or collator.made_at


def chosen_by(source: Source, place: Place) -> ast.Call | None:
    """The call of a loader, or of the one Trainer, that could be given a collator."""
    return loader_call(source, place) or trainer_call(source)


def called_as(source: Source, frame: Frame, ragged: list[Ragged]) -> list[Ragged]:
    """With the names that the loop of a frame gives to the items of its batches."""
    for node in source.every(ast.For):
        if node.lineno == frame.place.line and isinstance(node.target, ast.Tuple):
            names = {str(at): ast.unparse(one) for at, one in enumerate(node.target.elts)}
            return [replace(one, called=names.get(one.column, "")) for one in ragged]
    return ragged


def made_at(source: Source, ragged: Ragged) -> Place | None:
    """Where a dataset of the user's gives the column back, in a size of its own."""
    for maker in row_makers(source):
        value = columns_of(source, maker.function).get(ragged.column)
        if value is not None:
            return Place(source.file, value.lineno, value.end_lineno)
    return None


def nobody(collator: CollatorSeen, ragged: Ragged, call: ast.Call | None) -> str:
    if not ragged.only_first_axis:
        return f"Nothing brings {ragged.name} to one size"
    if collator.pads:
        return f"`{collator.kind}` does not pad {ragged.name}"
    if call is not None and called(call) == "DataLoader":
        return f"`DataLoader` has no `collate_fn` that pads {ragged.name}"
    return f"`{collator.kind}` pads no column"


def differing(ragged: Ragged) -> str:
    what = "lengths" if ragged.only_first_axis else "sizes"
    return f"{ragged.sizes} different {what}"


def facts(ragged: list[Ragged]) -> Iterator[Fact]:
    for one in ragged:
        if one.only_first_axis:
            yield Fact(f"lengths of {one.name}", listed([shape[0] for shape in one.shapes]))
        else:
            shown = [shape_of(shape) for shape in dict.fromkeys(one.shapes)][:MOST_SHAPES]
            yield Fact(f"sizes of {one.name}", ", ".join(shown))


def library_fixes(
    collator: CollatorSeen, ragged: list[Ragged], source: Source | None, call: ast.Call | None
) -> Iterator[Fix]:
    if not all(one.only_first_axis for one in ragged):
        yield resized(ragged)
        return
    if collator.pads or source is None or call is None:
        yield Fix(
            f"Pad {spoken(one.name for one in ragged)} in a `collate_fn` of your own with"
            " `pad_sequence(..., batch_first=True)`, or take it out of the rows.",
            why_not_tried=ONLY_YOU,
        )
        return
    text, edit = padding_given(source, call, collator, ragged)
    why_not = "" if edit else "what your tokenizer is called there is not known"
    yield Fix(f"{text}.", edit, all_arrive(ragged) if edit else None, why_not)


def resized(ragged: list[Ragged]) -> Fix:
    one = next(one for one in ragged if not one.only_first_axis)
    how = "`transforms.Resize((height, width))`" if one.is_picture else "`torch.nn.functional.pad`"
    return Fix(
        f"Bring {one.name} to one size before it becomes a batch, by {how} where the row is made.",
        why_not_tried="which size it shall be only you know",
    )


def all_arrive(ragged: list[Ragged]) -> Condition:
    """What the model is given has every row at full length; labels go to the loss."""
    one = next((one for one in ragged if not one.labels), ragged[0])
    return RowsReachModel(one.padded, one.total, one.elements)


def by_hand(source: Source, ragged: list[Ragged], edit: Edit) -> Fix:
    if not all(one.only_first_axis for one in ragged):
        return resized(ragged)
    return Fix(
        "Fill the rows up to the longest with `pad_sequence(..., batch_first=True)`:"
        f" {fillings(source, ragged)}.",
        edit,
        all_arrive(ragged),
    )


def call_at(source: Source, frame: Frame) -> ast.Call | None:
    """The call on the failing line that makes one tensor of a name."""
    for call in source.calls_in(frame.place.line or 0, frame.place.end_line or frame.place.line):
        if called(call) in STACKS and call.args and is_at(source, call, frame):
            return call
    return None


def ragged_value(rows: Value | None) -> Ragged | None:
    """A list of lists, or of tensors, that are not all of one size."""
    if rows is None:
        return None
    shapes: tuple[tuple[int, ...], ...] = tuple((size,) for size in rows.lengths or ())
    if not shapes:
        members = [one.shape for one in rows.members.values()]
        shapes = tuple(shape for shape in members if shape)
        if len(shapes) < len(members):
            return None
    if len(set(shapes)) < 2 or len({len(shape) for shape in shapes}) > 1:
        return None
    return Ragged(rows.text, shapes, None)


def list_fix(source: Source, call: ast.Call, ragged: Ragged) -> Fix:
    if not ragged.only_first_axis:
        return resized([ragged])
    text = "Fill the rows up to the longest with `pad_sequence(..., batch_first=True)`."
    statement = source.statement_of(call)
    edit = padded_instead(source, call, ragged)
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]):
            place = Place(source.file, statement.lineno)
            wanted = Wanted(name, shape=ragged.padded)
            return Fix(text, edit, ValuesAt(place, (wanted,), after=True))
    return Fix(text, edit, why_not_tried="what is made of the tensor has no name to look at")
