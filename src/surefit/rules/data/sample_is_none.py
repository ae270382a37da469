"""A dataset gave None for some of its rows, and the collator cannot put None into a batch.

## What happens
`__getitem__` ends with `return None`, or with nothing at all, for rows that it cannot use, a broken
image for instance. A loader hands them to the collator all the same, which fails with `object of
type 'NoneType' has no len()` or `found <class 'NoneType'>`.

## Why it matters
It depends on the order of rows: a batch without such a row passes, so that it can take many steps
to show. Fewer workers or another batch size only move it.

## What to do
Leave the rows out where you can see how many they are, in the `__init__` of the dataset; or, if
that costs too much, in a `collate_fn` that drops samples which are None.

## How it is recognised
Among the rows that the failing collator was given are some that are None themselves, and the line
that failed was at work on them. The `return` is read from the source of `__getitem__`.
"""

import ast
from collections.abc import Iterator
from dataclasses import replace

from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.observations import CollatorSeen
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import counted, listed
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.samples import RowsAreNone
from surefit.remedies.change import Change
from surefit.remedies.collating import DropInCollator, PickRows, arriving, first_epoch
from surefit.remedies.returning import Returning, condition_of, returning_rows
from surefit.source.edits import inserted_after

SYMPTOM = Symptom(
    r"TypeError: .*NoneType",
    "whether the dataset gave None in place of a whole sample",
    r"collate|fetch",
)
RULE = Rule("SF213", "sample-is-none", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))

FEW = 4
"""Rows of a batch of which all can be None at once, if some are."""


@RULE.on(RowsAreNone)
def a_row_is_none(broken: RowsAreNone, case: Case) -> Finding:
    returning = returning_rows(broken.collator, case)
    return case.finding(
        returning.place if returning is not None else broken.use.place,
        headline(broken.collator, returning),
        facts=facts(broken.collator, returning),
        why="A loader hands every row that it asked for to the collator, and None is no row: it"
        " has no length, no keys and no shape.",
        remedies=remedies(broken.collator, case, returning),
    )


def headline(collator: CollatorSeen, returning: Returning | None) -> str:
    some = "all" if collator.nones == collator.rows else f"{collator.nones:,} of the"
    rows = f"{some} {counted(collator.rows, 'row')} of this batch"
    dataset = collator.dataset
    name = f"`{dataset.of or dataset.kind}`" if dataset else "the dataset"
    if returning is None:
        are = "is" if collator.nones == 1 else "are"
        return f"The rows of {name} hold None in place of a sample: {rows} {are} None."
    explicit = any(isinstance(end, ast.Return) for end in returning.ends) or not returning.ends
    how = "returns None" if explicit else "ends without a `return`"
    function = returning.function.name
    of = f" of {name}" if function == "__getitem__" else ""
    return f"`{function}`{of} {how} for {rows}, and `{collator.kind}` needs samples."


def facts(collator: CollatorSeen, returning: Returning | None) -> Iterator[Fact]:
    if collator.numbers:
        kind = collator.dataset.kind if collator.dataset else "dataset"
        yield Fact("rows that are None", f"{listed(collator.numbers)} of the `{kind}`, from 0")
    if returning is None:
        return
    for end in returning.ends:
        if isinstance(end, ast.Return):
            where = f"{returning.source.file}:{end.lineno}"
            yield Fact("gives None", f"{where}{condition_of(returning.source, end)}")
        else:
            yield Fact("ends without `return`", f"after {returning.source.file}:{end.end_lineno}")
    if not returning.ends:
        yield Fact("gives None", "it has no `return None`: something that it calls does")


def remedies(
    collator: CollatorSeen, case: Case, returning: Returning | None
) -> Iterator[Remedy | Fix]:
    forgotten = return_forgotten(collator, case, returning)
    if forgotten is not None:
        yield forgotten
        return
    left = collator.rows - collator.nones
    where = f"in `{collator.kind}`" if collator.own else "in a `collate_fn`"
    drop = DropInCollator(
        test="row is not None",
        words=f"Drop samples that are None {where}; this batch loses {collator.nones:,} of its"
        f" {counted(collator.rows, 'row')} and keeps {left:,}.",
        collator=collator,
        must=arriving(case, left, epoch=first_epoch(case, collator)),
        choice=True,
    )
    pick = PickRows(
        words="Look at every row once before training and keep those that exist; of the rows of"
        f" this batch that is {left:,} of {collator.rows:,}.",
        must=replace(arriving(case, collator.rows), changes_the_past=True, at=0),
        choice=True,
    )
    ways: list[Remedy] = [drop] * bool(left) + [pick] * bool(collator.dataset and collator.numbers)
    if collator.rows <= FEW or 2 * collator.nones > collator.rows:
        ways.reverse()
    yield from ways
    if not ways:
        yield Fix("Leave such rows out in the `__init__` of the dataset.", choice=True)


def return_forgotten(
    collator: CollatorSeen, case: Case, returning: Returning | None
) -> Remedy | Fix | None:
    """Every row is None, and a function ends right after the value that it created."""
    ends = returning.ends if returning is not None and collator.nones == collator.rows else []
    match ends:
        case [ast.Assign(targets=[ast.Name(id=name)]) as last] if returning is not None:
            return Change(
                to=inserted_after(returning.source, last, f"return {name}"),
                words=f"Return what it created: `return {name}` after line {last.end_lineno}.",
                must=arriving(case, collator.rows),
            )
        case [last] if not isinstance(last, ast.Return):
            return Fix("Return the sample.", choice=True)
    return None
