"""Samples are joined end to end, and the row numbers in them still count from 0.

## What happens
A collate function joins graphs, sets or sentences of different sizes into one tensor, and beside it
an index that numbers the rows of each sample: edges of a graph, pairs, spans. The rows of the
second sample begin where the first ends, and its index still begins at 0.

## Why it matters
All indices point into the first sample. Nothing is out of range and nothing is raised: the first
graph gets the edges of all of them, and the others get none.

## What to do
Add the number of rows that lie before a sample to its index: keep `start`, and join
`index + start`.

## How it is recognised
In a fork, five rows of the dataset are collated in different orders and company, and the model's
output for one of them changes. A tensor of integers in the batch is that of the samples end to end,
its values are below the number of rows of each sample, and with the number of rows before it added
each sample has the same output in its batch as alone.
"""

from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.words import code
from surefit.laws.case import Case
from surefit.laws.invariants.collated_rows import IndexNotMoved
from surefit.laws.rows.joined_lists import FilledList, joined_list
from surefit.laws.runs import law_holds
from surefit.remedies.append import Append
from surefit.source.reading import Source

RULE = Rule("SF281", "row-numbers-not-offset", Severity.ERROR, __doc__)


@RULE.on(IndexNotMoved)
def an_index_points_into_the_first_sample(broken: IndexNotMoved, case: Case) -> Finding | None:
    index = broken.tried.index
    assert index is not None
    source = case.source(broken.use.place)
    numbers, rows = None, None
    if source is not None and broken.use.place.line is not None:
        numbers = joined_list(source, broken.use.place.line, index.index)
        rows = joined_list(source, broken.use.place.line, index.rows)
    at = case.expression(source, numbers.element) if source and numbers else None
    name = code(numbers.name if numbers is not None else index.index)
    return case.finding(
        at.place if at is not None else broken.use.place,
        f"{code(broken.tried.collate)} joins the row numbers {name} of several samples as they are:"
        " all of them point into the first sample of the batch.",
        facts=(
            *broken.facts,
            Fact("with an offset", "each sample has the same output in its batch as alone"),
        ),
        why="The rows of a sample begin where those of the samples before it end. Its row numbers"
        " still begin at 0.",
        remedies=(remedy(broken, case, source, numbers, rows),),
    )


def remedy(
    broken: IndexNotMoved,
    case: Case,
    source: Source | None,
    numbers: FilledList | None,
    rows: FilledList | None,
) -> Append | Fix:
    words = "Add the number of rows before the sample to its row numbers"
    if source is None or numbers is None or rows is None or rows.loop is not numbers.loop:
        return Fix(f"{words}: `index + start`.")
    listed = f"{rows.name}[:-1]" if rows.element.lineno < numbers.element.lineno else rows.name
    suffix = f" + sum(len(part) for part in {listed})"
    return Append(
        at=case.expression(source, numbers.element),
        suffix=suffix,
        alike=False,
        words=f"{words}: `{suffix.strip()}`.",
        must=law_holds(broken),
    )
