"""A collate function changes the values of a row by those of the other rows of its batch.

## What happens
A collate function scales a batch by its own mean, deviation or largest value, or takes something
else from all its rows into each of them. The same row is another input in every batch.

## Why it matters
Nothing is raised. What the model predicts for a row depends on the rows that happen to lie beside
it, in the evaluation too: a single row, or a batch in the order of its labels, gets other
predictions.

## What to do
Compute the mean and the deviation once, on the training rows, and use these numbers for all
batches. Scale a row by itself only along its own axes.

## How it is recognised
In a fork, five rows of the dataset are collated in different company. The values of a row in the
batch change, and are no copy of another row; the model's output for it changes, and does not where
only other rows of a finished batch are replaced. Collate functions that draw random numbers are not
judged.
"""

import ast

from surefit.doctor.findings import Finding, Fix, Place, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.words import code
from surefit.laws.case import Case
from surefit.laws.invariants.collated_rows import RowAlteredByItsBatch
from surefit.laws.rows.joined_lists import first_line
from surefit.source.selection import calls_within

RULE = Rule("SF282", "row-altered-by-its-batch", Severity.WARNING, __doc__)

REDUCING = ("mean", "std", "var", "amax", "amin", "max", "min", "sum", "norm", "median", "quantile")


@RULE.on(RowAlteredByItsBatch)
def a_row_depends_on_its_company(broken: RowAlteredByItsBatch, case: Case) -> Finding:
    tried = broken.tried
    return case.finding(
        reduced_at(broken, case),
        f"{code(tried.collate)} changes the values of a row by the other rows of its batch: the"
        f" output of {code(tried.model)} for the same row changes with its company.",
        facts=broken.facts,
        why="A row must be the same input in every batch; else a prediction depends on the rows"
        " beside it, in the evaluation, too.",
        remedies=[Fix("Compute the statistics once, on the training rows, and use them for all.")],
    )


def reduced_at(broken: RowAlteredByItsBatch, case: Case) -> Place:
    """The first line of the function that reduces its rows."""
    place, source = broken.use.place, case.source(broken.use.place)
    for function in source.every(ast.FunctionDef) if source is not None else ():
        if place.line is not None and first_line(function) <= place.line <= function.lineno:
            calls = list(calls_within(function, *REDUCING))
            calls.sort(key=lambda node: node.lineno)
            return Place(place.file, calls[0].lineno) if calls else place
    return place
