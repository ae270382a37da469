"""Rows and labels are put into different orders, so that rows have labels of other rows.

## What happens
Features are shuffled, sorted or sampled, and labels are not, or by a second random order:
`x = rng.permutation(x); y = rng.permutation(y)`. Or a shuffled data frame and its labels in the
original order are turned into arrays, which forget the index. Or rows were left out of a data
frame (`dropna`, a filter), which keeps the index with gaps, and `table["y"] = y` aligns it with a
series that counts from 0. Or outputs of a teacher, computed beforehand, are taken by position while
a loader shuffles the rows.

## Why it matters
Every row is trained on with the label of some other row. Nothing is raised; the loss stays at that
of guessing, or falls only as far as the model learns rows by heart.

## What to do
Draw one order and index both with it: `order = rng.permutation(len(x))`, `x[order]`, `y[order]`.
With pandas, take labels by the index of the rows: `y.loc[x.index]`. After rows were left out, call
`reset_index(drop=True)`, or assign by position: `table["y"] = y.to_numpy()`. Let the dataset hold
everything that belongs to a row: `TensorDataset(x, outputs_of_teacher)`.

## How it is recognised
Rows of the first training steps are found by content in arrays of the user's frames, raw or
standardised. The target that the loss got does not depend on the label at the same position, or a
data frame and its labels have the same index values in different orders. Or a column is put into a
data frame of as many rows, the index of one of them counts from 0, that of the other has gaps, and
a tenth of the rows gets the value of another position. Or rows of a target of numbers are found in
an array, also as the logits of a softmax, one after the other, and the model's rows in another
array of as many rows, at other positions and not in order. Silent where labels are drawn at random
on purpose, by name.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.findings import Finding, Fix, Place, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.words import counted
from surefit.laws.case import Case
from surefit.laws.invariants.column_rows import ColumnOfOtherRows
from surefit.laws.invariants.row_pairs import LabelsInOtherOrder, LabelsOfOtherRows
from surefit.laws.invariants.row_partners import TargetsOutOfStep
from surefit.laws.rows.permuted_names import Permuted, TwoOrders, partner, two_orders
from surefit.laws.runs import law_holds
from surefit.remedies.append import Append
from surefit.remedies.change import Change
from surefit.remedies.one_dataset import part_taken, put_into_the_dataset
from surefit.source.edits import inserted_after, inserted_before, replaced
from surefit.source.line_edits import block_of, shares_lines
from surefit.source.outcomes import outcomes
from surefit.source.patches import all_of
from surefit.source.reading import Source, called
from surefit.source.selection import nodes_within, the_only

RULE = Rule("SF279", "rows-and-labels-not-paired", Severity.ERROR, __doc__)

WORDS = "Index rows and labels with the same order"
ORDER = "order"


@RULE.on(LabelsOfOtherRows)
def rows_have_labels_of_other_rows(broken: LabelsOfOtherRows, case: Case) -> Iterator[Finding]:
    pair = broken.pair
    orders = next(
        (found for source in case.recording.sources() if (found := two_orders(source))), None
    )
    if orders is None:
        return
    culprit = orders.culprit
    both = orders.rows is not None and orders.labels is not None
    what = "two different random orders" if both else f"an order for `{culprit.name}` alone"
    yield case.finding(
        case.expression(culprit.source, first_expression(culprit)).place,
        f"Rows and labels are misaligned: they are shuffled by {what}, and {pair.equal:,} of"
        f" {counted(pair.rows, 'row')} have their own label, as many as by chance.",
        facts=broken.facts,
        why=f"`{pair.inputs}` and `{pair.targets}` belong together row by row; after the shuffle"
        " each row is trained on with the label of another row.",
        remedies=(remedy(broken, orders),),
    )


def first_expression(culprit: Permuted) -> ast.expr:
    statement = culprit.statement
    assert isinstance(statement, ast.Assign | ast.Expr)
    return statement.value


def remedy(broken: LabelsOfOtherRows, orders: TwoOrders) -> Change | Fix:
    """With one order for both."""
    rows, labels = orders.rows, orders.labels
    if rows is None or labels is None:
        return ordered_alike(broken, orders.culprit)
    source = rows.source
    first, second = sorted((rows, labels), key=lambda known: known.statement.lineno)
    if any(shares_lines(source, known.statement) for known in (first, second)):
        return Fix(f"{WORDS}: `x[{ORDER}]`, `y[{ORDER}]`.")
    taken = {node.id for node in source.every(ast.Name)}
    name = ORDER if ORDER not in taken else f"row_{ORDER}"
    edits = []
    if first.is_new:
        edits.append(inserted_before(source, first.statement, f"{name} = {first.order}"))
    else:
        name = first.order
    for known in (first, second) if first.is_new else (second,):
        text = f"{known.target} = {known.name}[{name}]"
        edits.append(replaced(source, known.statement, text))
    words = f"{WORDS}: `{name}`."
    return Change(to=all_of(edits), words=words, must=law_holds(broken))


def ordered_alike(broken: LabelsOfOtherRows, alone: Permuted) -> Change | Fix:
    """The same order for what stands beside it."""
    source, other = alone.source, partner(alone)
    if not other or alone.is_new or shares_lines(source, alone.statement):
        return Fix(f"{WORDS}: `x[{ORDER}]`, `y[{ORDER}]`.")
    edit = inserted_after(source, alone.statement, f"{other} = {other}[{alone.order}]")
    words = f"{WORDS}: `{other}[{alone.order}]`, too."
    return Change(to=edit, words=words, must=law_holds(broken))


@RULE.on(LabelsInOtherOrder)
def labels_are_in_another_order(broken: LabelsInOtherOrder, case: Case) -> Finding:
    pair = broken.pair
    source = case.source(pair.place)
    labels = labels_at(source, broken) if source is not None else None
    place = broken.use.place
    if source is not None and labels is not None:
        place = case.expression(source, labels).place
    words = f"Take the labels in the order of the rows: `.loc[{pair.inputs}.index]`."
    return case.finding(
        place,
        f"Rows and labels are misaligned: `{pair.inputs}` is in another order than"
        f" `{pair.targets}`, and {pair.apart:,} of {counted(pair.rows, 'row')} are trained on with"
        " the label of another row.",
        facts=broken.facts,
        why="Both hold the same index values. As arrays they are paired by position, and the index"
        " is forgotten.",
        remedies=list(by_index(broken, case, source, labels)) or [Fix(words)],
    )


def labels_at(source: Source, broken: LabelsInOtherOrder) -> ast.expr | None:
    return made_for(source, broken.pair.place, broken.pair.targets)


def made_for(source: Source, place: Place, name: str) -> ast.expr | None:
    """`outcome.drop(rows)` for `y` at a line, if that is all that it can be."""
    statement = source.statement_at(place.line or 0)
    names = nodes_within(statement, ast.Name) if statement is not None else ()
    read = next((node for node in names if node.id == name), None)
    return the_only(outcomes(source, read)) if read is not None else None


def by_index(
    broken: LabelsInOtherOrder, case: Case, source: Source | None, labels: ast.expr | None
) -> Iterator[Append]:
    """Where the labels are created, if the rows have a name there already."""
    if source is None or labels is None:
        return
    rows = made_for(source, broken.pair.place, broken.pair.inputs)
    created = source.statement_of(rows) if rows is not None else None
    match created:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is rows:
            if created not in block_of(source, source.statement_of(labels)):
                return
            if created.lineno < labels.lineno:
                suffix = f".loc[{name}.index]"
                yield Append(
                    at=case.expression(source, labels),
                    suffix=suffix,
                    alike=False,
                    words=f"Take the labels in the order of the rows: `{suffix}`.",
                    must=law_holds(broken),
                )


@RULE.on(ColumnOfOtherRows)
def a_column_is_aligned_with_other_rows(broken: ColumnOfOtherRows, case: Case) -> Finding:
    column = broken.column
    gaps, counts = "the data frame", "the column"
    if not column.frame_has_gaps:
        gaps, counts = counts, gaps
    source = case.source(broken.use.place)
    value = column_at(source, broken) if source is not None else None
    words = "Assign the values by position: `.to_numpy()`."
    at = case.expression(source, value) if source is not None and value is not None else None
    return case.finding(
        at.place if at else broken.use.place,
        f"Rows and values are misaligned: pandas aligns this column by a stale index, and"
        f" {column.moved:,} of {counted(column.rows, 'row')} get the value of another row.",
        facts=broken.facts,
        why=f"Both have {column.rows:,} rows, but {gaps} keeps the index from before rows were left"
        f" out, and {counts} counts from 0. Values go to equal index values, not positions.",
        remedies=[
            Append(at=at, suffix=".to_numpy()", alike=False, words=words, must=law_holds(broken))
            if at
            else Fix(words),
            Fix("Or call `.reset_index(drop=True)` where rows are left out."),
        ],
    )


def column_at(source: Source, broken: ColumnOfOtherRows) -> ast.expr | None:
    """`y` of `table["y"] = y`, and of `table.assign(y=y)`."""
    match source.statement_at(broken.use.place.line or 0):
        case ast.Assign(targets=[ast.Subscript()], value=value):
            return value
        case ast.Assign(value=ast.Call(args=[], keywords=[keyword]) as call):
            return keyword.value if called(call) == "assign" else None
    return None


@RULE.on(TargetsOutOfStep)
def targets_are_taken_in_another_order(broken: TargetsOutOfStep, case: Case) -> Finding:
    known = broken.partners
    return case.finding(
        taken_at(case, broken, known.targets),
        f"Rows and targets are misaligned: `{known.targets}` is taken by position and"
        f" `{known.inputs}` in a shuffled order, and {known.same:,} of"
        f" {counted(known.rows, 'row')} have their own target.",
        facts=broken.facts,
        why=f"Row i of `{known.targets}` belongs to row i of `{known.inputs}`; both have"
        f" {known.length:,} rows.",
        remedies=[in_one_dataset(broken, case)],
    )


def taken_at(case: Case, broken: TargetsOutOfStep, name: str) -> Place:
    """Where a part of the array is taken, if that is in one place of the function."""
    place = broken.use.place
    source = case.source(place)
    part = part_taken(source, place, name) if source is not None else None
    return case.expression(source, part).place if source is not None and part else place


def in_one_dataset(broken: TargetsOutOfStep, case: Case) -> Change | Fix:
    """Where a loop goes through a `TensorDataset` of the inputs alone."""
    known = broken.partners
    both = f"TensorDataset({known.inputs}, {known.targets})"
    words = f"Let one dataset hold both, so that they are shuffled together: `{both}`."
    source = case.source(known.place)
    part = part_taken(source, known.place, known.targets) if source is not None else None
    if source is None or part is None:
        return Fix(words)
    edit = put_into_the_dataset(source, part, (known.inputs, known.targets))
    return Change(to=edit, words=words, must=law_holds(broken)) if edit else Fix(words)
