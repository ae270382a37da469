"""Rows of different lengths are put into one tensor, and nothing pads them.

## What happens
A tensor cannot have rows of different lengths. `DataLoader` without a `collate_fn` only stacks, as
do `default_data_collator`, `torch.stack` and `torch.tensor` in a collator of your own. Python says
`stack expects each tensor to be equal size` or `expected sequence of length 12 at dim 1 (got 9)`.

## Why it matters
It can wait for hours: a batch whose rows happen to be equally long works. And a batch size of 1,
with which the message goes away, never stacks anything.

## What to do
Pad the rows of each batch to its longest: `collate_fn=` with `pad_sequence(batch_first=True)`, or
`DataCollatorWithPadding(tokenizer)`; labels with -100, which cross entropy ignores. Resize pictures
of different sizes before they become a batch.

## How it is recognised
The rows that the failing collator was given have a column of several shapes which this collator
does not pad; a collator of your own must have failed on that column. Where labels alone differ,
see ragged-labels.
"""

from collections.abc import Iterator

from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Written
from surefit.doctor.words import code, counted, listed, shape_of, spoken
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.odd_rows import row_facts
from surefit.laws.contracts.stacking import RowColumn, UnequalLengths
from surefit.laws.rows.collators import chooser_of, constructor_of
from surefit.remedies.padding import PadWhereStacked, fillings, padding_collator
from surefit.remedies.statements import assigned_name

SYMPTOM = Symptom(
    r"stack expects each tensor to be equal size|expected sequence of length"
    r"|inhomogeneous shape|each element in list of batch should be of equal size",
    "whether the rows of the batch have different lengths, and whether a `collate_fn` pads them",
)
RULE = Rule("SF206", "ragged-rows", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))

MOST_SHAPES = 4


@RULE.on(UnequalLengths)
def rows_cannot_be_stacked(broken: UnequalLengths, case: Case) -> Finding | None:
    if broken.collator is not None and all(column.labels for column in broken.wrong):
        return None
    first = broken.wrong[0]
    chosen = chosen_at(broken, case)
    if not first.only_first_axis:
        lineage = case.lineage_of_column(first.name)
        chosen = lineage.role() or lineage.handed_over() or chosen
    return case.finding(
        chosen.place,
        f"{subject(broken, first, chosen)}, and the {counted(broken.rows, 'row')} of"
        f" {f'this batch have {first.words} of' if broken.collator else f'{first.words} have'}"
        f" {len(set(first.shapes))} different {'lengths' if first.only_first_axis else 'sizes'}.",
        facts=(*map(sizes, broken.wrong), *row_facts(case)),
        why="A tensor needs rows of one size, and nothing here pads them.",
        remedies=remedies(broken, chosen, case),
    )


def chosen_at(broken: UnequalLengths, case: Case) -> Written:
    """A collator that pads was constructed somewhere; one that only stacks came with its loader."""
    if broken.calls:
        return broken.calls[0][0]
    if broken.collator is None:
        return broken.use
    constructor = constructor_of(case, broken.collator) if broken.pads else None
    return constructor or chooser_of(case, broken.collator) or broken.use


def subject(broken: UnequalLengths, first: RowColumn, chosen: Written) -> str:
    if not first.only_first_axis:
        return f"Nothing resizes {first.words} to one size"
    if broken.calls:
        return f"{code(broken.calls[0][0].text)} stacks rows that nothing pads"
    if broken.pads:
        return f"`{broken.by}` does not pad {first.words}"
    if chosen.text.partition("(")[0].endswith("DataLoader"):
        return f"`DataLoader` has no `collate_fn` that pads {first.words}"
    return f"`{broken.by}` pads no column"


def sizes(column: RowColumn) -> Fact:
    if column.only_first_axis:
        return Fact(f"lengths of {column.words}", listed(column.lengths))
    shapes = list(dict.fromkeys(column.shapes))[:MOST_SHAPES]
    return Fact(f"sizes of {column.words}", ", ".join(map(shape_of, shapes)))


def remedies(broken: UnequalLengths, chosen: Written, case: Case) -> Iterator[Remedy | Fix]:
    uneven = next((column for column in broken.wrong if not column.only_first_axis), None)
    if uneven is not None:
        how = "`transforms.Resize((height, width))`" if uneven.is_picture else "`F.pad`"
        text = f"Bring {uneven.words} to one size where the row is created, with {how}."
        yield Fix(text, choice=True)
    elif broken.calls:
        yield pad_where_stacked(broken, case)
    else:
        names = spoken(column.words for column in broken.wrong)
        text = f"Pad {names} in a `collate_fn` of your own with `pad_sequence`."
        collator = padding_collator(case, chosen, broken.columns, broken.wrong)
        yield (None if broken.pads else collator) or Fix(text, choice=True)


def pad_where_stacked(broken: UnequalLengths, case: Case) -> Remedy:
    """In a collator the rows must reach the model; a tensor that has a name is looked at there."""
    columns = [column for _, column in broken.calls]
    source = case.source(broken.use)
    if broken.collator is not None:
        filled = fillings(source, columns) if source else ""
        inputs = next((column for column in columns if not column.labels), columns[0])
        return PadWhereStacked(calls=broken.calls, must=inputs.reaches_model(), fillings=filled)
    name = assigned_name(case, broken.calls[0][0])
    wanted = (Wanted(name, shape=columns[0].padded),) if name is not None else ()
    must = ValuesAt(broken.use.place, wanted, after=True) if wanted else None
    return PadWhereStacked(calls=broken.calls, must=must)
