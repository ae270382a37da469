"""Every row is a batch of one, so that batches have an axis too many.

## What happens
`return_tensors="pt"` makes a batch, also of a single text or picture: `input_ids` is (1, 40), not
(40,). So does a tokenizer that is given a list of one text. The loader adds the axis of the batch,
and (4, 1, 40) reaches a model that takes (4, 40).

## Why it matters
The exception (`too many values to unpack`, something about masks or nesting) is raised deep in the
library, far from the line that created the axis. Some models fail only in the loss, or not at all.

## What to do
Remove the axis where the row is created: `.squeeze(0)`, or no `return_tensors` and no list around a
single text.

## How it is recognised
A column reaches the model, or the collator, with an axis of size 1 where the tokens should be. Its
lineage leads to the expression that added this axis. The channel axis of a picture is passed over.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.conditions.condition import All
from surefit.doctor.conditions.inputs import RowsReachModel
from surefit.doctor.findings import Fact, Finding, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Expression, Written
from surefit.doctor.words import code, shape_of
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.stacking import ExtraNesting, RowColumn, Stacked, batch_in_frames
from surefit.laws.rows.collators import chooser_of
from surefit.laws.values.calls_on_the_way import calls_with
from surefit.lineage.lineage import Lineage
from surefit.lineage.producers import Producer, ProducerKind
from surefit.lineage.properties import batch_of_one
from surefit.remedies.change import Change
from surefit.remedies.padding import padding_collator
from surefit.remedies.unnesting import squeezed, unlisted, without_tensors
from surefit.source.patches import Edit, all_of

SYMPTOM = Symptom(
    r"too many values to unpack|excessive nesting|got 5D|must match the size of tensor",
    "whether `input_ids` reaches the model as [batch, 1, tokens]: `return_tensors` in"
    " `__getitem__` or in a function given to `map` row by row",
)
RULE = Rule("SF202", "extra-axis-in-rows", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))


@dataclass(frozen=True, slots=True)
class Nested:
    """A column with its extra axis: where that was added, and what is the column of a row."""

    column: RowColumn
    onset: Producer
    tensors: Expression | None
    """The call with `return_tensors` that it went through."""
    value: Producer

    @property
    def at(self) -> Written:
        return self.tensors or self.onset


@RULE.on(ExtraNesting)
def rows_are_batches_of_one(broken: ExtraNesting, case: Case) -> Finding | None:
    nested = [item for column in broken.wrong if (item := nested_by(broken, column, case))]
    if not nested:
        return None
    first = nested[0]
    lost = is_lost_elsewhere(broken, first, case)
    shape = (broken.rows, *max(first.column.shapes))
    is_item = first.column.name.isdigit()
    name = "the batch" if is_item else f"{first.column.words} of a batch"
    maker = first.onset.function
    where = f"`{maker}`" if "<" not in maker.rpartition(".")[2] else code(first.onset.text)
    rows = [("a row" if is_item else each.words, each.shapes[0]) for each in broken.wrong]
    onsets = {item.at.span: item for item in nested}.values()
    return case.finding(
        (first.value if lost else first.at).place,
        f"{where} makes every row a batch of one: {name} is {shape_of(shape)}, not"
        f" {shape_of((shape[0], *shape[2:]))}.",
        facts=(
            *(Fact(of, f"{shape_of(row)} in the first row") for of, row in rows),
            *(Fact("the axis", f"{how(item)}, {item.at.place}") for item in onsets),
        ),
        why="A loader adds the axis of the batch; a row must come without it.",
        remedies=remedies(broken, nested, case),
    )


def nested_by(broken: Stacked, column: RowColumn, case: Case) -> Nested | None:
    lineage = lineage_of(broken, column, case)
    onset = lineage.birth(of=batch_of_one)
    values = [lineage.graph[root.serial] for root in lineage.root if root.serial in lineage.graph]
    calls = calls_with(case, lineage, "return_tensors", lambda _: True)
    tensors = next((call for call, _ in calls), None)
    if onset is None or not values or (column.total is None and tensors is None):
        return None  # the one channel of a picture
    return Nested(column, onset, tensors, values[0])


def lineage_of(broken: Stacked, column: RowColumn, case: Case) -> Lineage:
    """Of the rows, each of which is (1, ...)."""
    if broken.collator is not None:
        return case.lineage_of_column(column.name)
    for operand in batch_in_frames(case, column):
        rows = case.lineage(operand).of_shape(column.shapes[0])
        if rows.root:
            return rows
    return Lineage({}, ())


def is_lost_elsewhere(broken: Stacked, first: Nested, case: Case) -> bool:
    """Other columns of the same batch of one are squeezed: this one was forgotten."""
    wrong = [column.name for column in broken.wrong]
    others = [column.name for column in broken.columns if column.name not in wrong]
    return broken.collator is not None and any(
        first.at.span == producer.span
        for name in others
        for producer in case.lineage_of_column(name).all
    )


def how(item: Nested) -> str:
    if item.tensors is not None:
        return "`return_tensors` makes a batch of one"
    kind = "list" if item.onset.kind is ProducerKind.DISPLAY else "batch"
    return f"{code(item.onset.text)} is a {kind} of one"


def remedies(broken: Stacked, nested: list[Nested], case: Case) -> Iterator[Remedy]:
    must = All(tuple(reaches_model(column) for column in broken.wrong))
    ways = (
        ("Give the item itself, without the list around it", unlisted),
        ("Leave out `return_tensors`", without_tensors),
        ("Remove the axis with `squeeze(0)`", squeezed),
    )
    for words, way in ways:
        edit = all_of(way(case, item.onset, item.tensors, item.value) for item in nested)
        if edit is not None:
            yield Change(to=with_padding(edit, broken, nested, case), words=f"{words}.", must=must)


def reaches_model(column: RowColumn) -> RowsReachModel:
    flat = column.without_axis
    name = None if column.name.isdigit() else column.name
    return RowsReachModel(flat.padded, flat.total, flat.elements if flat.is_ragged else None, name)


def with_padding(edit: Edit, broken: Stacked, nested: list[Nested], case: Case) -> Edit:
    """Without their axis the rows can still differ in length, and the collator pad nothing."""
    ragged = [item.column.without_axis for item in nested if item.column.is_ragged]
    if broken.collator is None or broken.own or broken.pads or not ragged:
        return edit
    chooser = chooser_of(case, broken.collator)
    flat = [column.without_axis if column.is_batch_of_one else column for column in broken.columns]
    collator = padding_collator(case, chooser, flat, ragged) if chooser is not None else None
    more = collator.edit(case) if collator is not None else None
    return all_of((edit, more)) or edit
