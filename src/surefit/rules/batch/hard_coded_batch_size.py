"""A number of rows is written in the source, and this batch has another.

## What happens
`x.view(BATCH, -1)`, `torch.zeros(layers, BATCH, hidden)`, `torch.ones(BATCH, 1)` or `for i in
range(BATCH)` hold for complete batches. The last batch of an epoch has the rows that are left over,
a batch of another loader may have any number.

## Why it matters
It happens at the end of the first epoch, or in the evaluation after it. `drop_last=True` hides it,
and rows are lost; where the numbers happen to divide, a reshape silently mixes rows.

## What to do
Ask the batch: `x.size(0)`, `len(labels)`. A reshape that leaves the batch axis alone,
`x.flatten(1)`, needs no number at all.

## How it is recognised
The loader that was at work, or the loop that cuts the rows, says how many rows this batch has. A
failing reshape fits if one number of it is replaced by these rows; a failing loop counts past them;
of two tensors that do not fit, a second run shows that one was created with a number of its own; of
a layer that gets another width, that a reshape before it mixed the rows.
"""

import ast
from collections.abc import Iterator
from dataclasses import replace

from surefit.doctor.conditions.condition import Condition
from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Expression, Written, fact_at
from surefit.doctor.words import code, counted, shape_of
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.counted_rows import CountedRows
from surefit.laws.contracts.unequal_sides import UnequalSides
from surefit.laws.contracts.widths import LayerWidth
from surefit.laws.operations.operation_calls import computed_on
from surefit.laws.rows.batches import Batches, batches_of
from surefit.laws.rows.row_counts import is_written_down, with_rows
from surefit.lineage.lineage import Lineage
from surefit.lineage.producers import Producer, Way
from surefit.lineage.ways import (
    CREATES,
    RECURRENT,
    REPEATS,
    history,
    operation,
    regroups_rows,
    shape,
)
from surefit.remedies.ask_the_batch import AskTheBatch, CutToTheBatch, rows_at

SYMPTOMS = (
    Symptom(
        r"shape '\[.*\]' is invalid for input of size \d+",
        "whether one number of the shape is a batch size, and how many rows this batch has",
    ),
    Symptom(
        r"Expected hidden(\[\d\])? size \(.*\), got \[.*\]",
        "whether the state was made for a fixed number of rows, and how many this batch has",
    ),
    Symptom(
        r"index \d+ is out of bounds for dimension 0 with size \d+",
        "whether a loop counts to a batch size, and how many rows this batch has",
    ),
)
RULE = Rule("SF235", "hard-coded-batch-size", Severity.ERROR, __doc__, symptoms=SYMPTOMS)


@RULE.on(CountedRows)
def rows_are_counted_by_a_number(broken: CountedRows, case: Case) -> Finding:
    text = around(broken.number, case)
    value: str | None = f"len({broken.tensor.value.text})"
    if broken.shape is not None:
        text, value = broken.use.text, with_rows(case.own, broken.rows) if case.own else None
    return case.finding(
        broken.number.place,
        headline(text, broken.count, broken.rows, broken.batches),
        facts=(
            Fact(broken.tensor.name, shape_of(broken.tensor.shape)),
            Fact("rows", broken.batches.words(broken.rows)),
        ),
        why="The number is written in the source and not asked of the batch.",
        remedies=(ask(broken.number, value, broken.rows, result(broken, case)),),
    )


def result(broken: CountedRows, case: Case) -> Condition:
    """After the line there are as many rows as before it."""
    node, source = case.node(broken.use), case.source(broken.use.place)
    statement = source.statement_of(node) if source is not None and node is not None else None
    if broken.shape and isinstance(statement, ast.Assign) and statement.value is node:
        wanted = Wanted(ast.unparse(statement.targets[0]), broken.shape)
        return ValuesAt(broken.use.place, (wanted,), after=True)
    tensor = broken.tensor
    if case.own is not None and case.own.value(tensor.value.text) is None:
        rows = [known for known in case.own.values if (known.shape or ())[:1] == (broken.rows,)]
        tensor = replace(tensor, value=rows[0]) if rows else tensor
    return ValuesAt(broken.use.place, (Wanted(tensor.value.text, tensor.shape),))


@RULE.on(UnequalSides)
def tensor_was_created_for_other_rows(broken: UnequalSides, case: Case) -> Finding | None:
    batches = batches_of(case)
    if batches is None or not batches.can_have(broken.expected):
        return None
    lineage = case.lineage(broken.side)
    born = created_with_a_number(lineage, broken.size)
    number = written(lineage, born, broken.size, broken.axis) if born is not None else None
    source, node = case.source(number), case.node(number)
    if number is None or source is None or node is None or not is_written_down(source, node):
        return None
    return case.finding(
        number.place,
        headline(around(number, case), broken.size, broken.expected, batches),
        facts=(
            Fact(broken.side.name, shape_of(broken.side.shape)),
            *fact_at("created at", born),
            Fact(broken.other.name, shape_of(broken.other.shape)),
            Fact("rows", batches.words(broken.expected)),
        ),
        why="The number is written in the source and not asked of the batch.",
        remedies=ways(broken, number, lineage, case),
    )


@RULE.on(LayerWidth)
def rows_are_regrouped_before_a_layer(broken: LayerWidth, case: Case) -> Finding | None:
    lineage, batches = case.lineage(broken.given), batches_of(case)
    regrouped = regroups_rows(lineage, broken.size, broken.width)
    if batches is None or regrouped is None or not batches.can_have(regrouped[1]):
        return None
    reshape, rows = regrouped
    count = shape(reshape)[0]
    number = written(lineage, reshape, count, 0)
    source, node = case.source(number), case.node(number)
    if number is None or source is None or node is None or not is_written_down(source, node):
        return None
    wanted = Wanted(broken.given.name.strip("`"), (rows, broken.width))
    must = ValuesAt(case.own.place, (wanted,)) if case.own is not None else None
    return case.finding(
        number.place,
        headline(reshape.text, count, rows, batches),
        facts=(
            Fact(broken.layer.name, broken.layer.words),
            Fact(broken.given.name, shape_of(broken.given.shape)),
            Fact("rows", batches.words(rows)),
        ),
        ruled_out=(Fact("the layer", f"each of the {rows} rows has the {broken.width} features"),),
        why="The number is written in the source and not asked of the batch: rows are mixed.",
        remedies=(ask(number, reshaped_rows(case, reshape), rows, must),),
    )


def reshaped_rows(case: Case, reshape: Producer) -> str | None:
    """What is reshaped, asked for its rows."""
    node, source = case.node(reshape), case.source(reshape)
    owner = computed_on(source, node) if source and isinstance(node, ast.Call) else None
    return f"{ast.unparse(owner)}.size(0)" if owner is not None else None


def headline(text: str, count: int, rows: int, batches: Batches) -> str:
    which = "this" if rows == batches.size else "the last"
    return f"{code(text)} is written for batches of {count} rows, and {which} batch has {rows}."


def around(number: Written, case: Case) -> str:
    """The call in which the number stands."""
    node, source = case.node(number), case.source(number.place)
    if node is None or source is None:
        return number.text
    outer = next((call for call in source.up(node) if isinstance(call, ast.Call)), node)
    return " ".join(source.segment(outer).split())


def created_with_a_number(lineage: Lineage, size: int) -> Producer | None:
    """What made a tensor of numbers alone, or many rows of one; None where it was computed."""
    for producer in history(lineage, size):
        if operation(producer) in RECURRENT:
            return None
        before = [inner for _, inner in lineage.inputs(producer) if shape(inner)]
        if operation(producer) in CREATES and producer.own:
            return producer
        if operation(producer) in REPEATS and before and shape(before[0])[:1] == (1,):
            return producer
    return None


def written(lineage: Lineage, born: Producer, size: int, axis: int) -> Producer | None:
    """The argument with the size; of several, the one at the place of the axis. Sizes in a tuple
    are looked up where the tuple is written."""
    given = [inner for way, inner in lineage.inputs(born) if way.way is Way.ARGUMENT]
    lists = [inner for inner in given if inner.value.kind in ("tuple", "list", "Size")]
    while lists:
        given = [inner for _, inner in lineage.inputs(lists[0])]
        lists = [inner for inner in given if inner.value.kind in ("tuple", "list", "Size")]
    having = [inner for inner in given if inner.value.scalar == size]
    at = given[axis] if axis < len(given) else None
    return at if at in having else having[0] if having else None


def ways(
    broken: UnequalSides, number: Producer, lineage: Lineage, case: Case
) -> Iterator[Remedy | Fix]:
    """At the number; where the batch is not known there, at the call that hands the number over;
    at last, cut where it is used."""
    own, rows = case.own, broken.expected
    other = with_rows(own, rows, broken.side.name.strip("`")) if own is not None else None
    must = other_stays(broken, case)
    for at in (number, *handed_over(lineage, number)):
        value = rows_at(case, at, rows)
        if value is not None:
            yield ask(at, value, rows, must)
            return
    used = used_at(broken, case)
    if used is None or other is None or own is None:
        yield ask(number, None, rows, must)
        return
    alike = frozenset(known.text for known in own.values if known.shape == broken.side.shape)
    yield CutToTheBatch(
        at=used,
        axis=broken.axis,
        value=other,
        same=alike,
        words=f"Use as many rows of it as the batch has: {code(other)}.",
        must=must,
    )


def handed_over(lineage: Lineage, number: Producer) -> Iterator[Producer]:
    """What the parameter was called with, outwards."""
    at: Producer | None = number
    while at is not None:
        ways = (Way.BINDING, Way.ARGUMENT)
        before = [inner for way, inner in lineage.inputs(at) if way.way in ways and inner.own]
        at = before[0] if len(before) == 1 else None
        if at is not None and at.span is not None:
            yield at


def used_at(broken: UnequalSides, case: Case) -> Expression | None:
    """The tensor in the user's failing expression."""
    if broken.side.use is not None:
        return broken.side.use
    node, name = case.node(broken.use), broken.side.name.strip("`")
    source = case.source(broken.use.place)
    for part in ast.walk(node) if node is not None and source is not None else ():
        if isinstance(part, ast.expr) and ast.unparse(part) == name and source is not None:
            return case.expression(source, part)
    return None


def other_stays(broken: UnequalSides, case: Case) -> Condition | None:
    """The rows of the batch come to the line that failed, all of them."""
    own = case.own
    if own is None:
        return None
    tensors = [known for known in own.values if known.kind == "Tensor"]
    having = [known for known in tensors if broken.expected in (known.shape or ())[:2]]
    known = own.value(broken.other.name.strip("`")) or next(iter(having), None)
    return ValuesAt(own.place, (Wanted(known.text, known.shape),)) if known is not None else None


def ask(at: Written, value: str | None, rows: int, must: Condition | None) -> Remedy | Fix:
    if value is None:
        return Fix(f"Create it for the rows that a batch has (`x.size(0)`), here {rows}.")
    words = f"Ask the batch: {code(value)}. All {counted(rows, 'row')} of it are used."
    return AskTheBatch(at=at, value=value, words=words, must=must)
