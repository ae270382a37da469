"""Inputs are scaled by numbers that were computed from the evaluation rows, too.

## What happens
`x = (x - x.mean(0)) / x.std(0)`, or a scaler's `fit_transform(x)`, comes before the split: mean and
deviation, or the range, are those of all rows, of training and evaluation together.

## Why it matters
Nothing is raised. The training data contain something about the rows that the model is evaluated
on; of a series, about its future. The score is better than on new rows, the more so the fewer rows
there are and the more they differ.

## What to do
Split first. Compute the numbers from training rows alone, and scale all rows by them.

## How it is recognised
At an evaluation, arrays of the user's frames are looked through for the rows that the model was
trained on and those that it is given now. In an array of both, or in both together, columns have
mean 0 and deviation 1, or the range from 0 to 1, to rounding; in the training rows alone they have
not. A note where training rows alone would move no column by a fiftieth of its deviation. Silent
where the model is given all rows in training, as the nodes of one graph.
"""

import ast
from dataclasses import replace

from surefit.doctor.findings import Finding, Fix, Severity
from surefit.doctor.measures.fitted_rows import ScaledColumns
from surefit.doctor.rule import Rule
from surefit.doctor.words import counted
from surefit.laws.case import Case
from surefit.laws.invariants.fitted_rows import SEVERAL, ScaledByAllRows
from surefit.laws.rows.scaling_sources import (
    Scaling,
    bound_late,
    is_read_between,
    scalings,
    training_rows,
)
from surefit.laws.runs import law_holds
from surefit.remedies.change import Change
from surefit.source.edits import replaced
from surefit.source.line_edits import block_of, inserted_after, removed, shares_lines
from surefit.source.patches import Edit, all_of, both

RULE = Rule("SF283", "scaled-by-evaluation-rows", Severity.WARNING, __doc__)

NEGLIGIBLE = 0.02
"""Deviations by which training rows alone would move the column that moves most."""


@RULE.on(ScaledByAllRows)
def rows_are_scaled_by_rows_of_the_evaluation(broken: ScaledByAllRows, case: Case) -> Finding:
    scaled = broken.scaled
    found = [
        scaling
        for source in case.recording.sources()
        for scaling in scalings(source, scaled.arrays)
    ]
    scaling = found[0] if found else None
    place = broken.use.place
    if scaling is not None:
        first = min(scaling.calls, key=lambda call: (call.lineno, call.col_offset))
        place = case.expression(scaling.source, first).place
    others = scaled.rows - scaled.trained_rows
    finding = case.finding(
        place,
        f"Inputs are scaled by the {scaled.way} of all {counted(scaled.rows, 'row')};"
        f" {others:,} of these are not trained on.",
        facts=broken.facts,
        why="What is known of the evaluation rows must not be in the training data: the score is"
        " better than it is on new rows.",
        remedies=[remedy(broken, scaling)],
    )
    return replace(finding, severity=Severity.NOTE) if is_negligible(scaled) else finding


def is_negligible(scaled: ScaledColumns) -> bool:
    """Training rows alone would give the same numbers, but for what a sample does."""
    if scaled.way == SEVERAL:
        return False
    return max(abs(scaled.mean), abs(scaled.spread - 1)) < NEGLIGIBLE


def remedy(broken: ScaledByAllRows, scaling: Scaling | None) -> Change | Fix:
    words = "Compute the numbers from training rows alone"
    rows = training_rows(scaling, broken.scaled.trained) if scaling is not None else None
    if scaling is None or rows is None:
        return Fix(f"{words}, after the split, and scale all rows by them.")
    text = scaling.source.segment(rows)
    late = bound_late(scaling, rows)
    edits = [with_rows(scaling, owner, text) for owner in scaling.owners]
    edit = moved(scaling, text, late[-1]) if late else all_of(edits)
    return Change(to=edit, words=f"{words}: `{text}`.", must=law_holds(broken))


def moved(scaling: Scaling, text: str, last: ast.stmt) -> Edit | None:
    """The one statement that scales, after the line that chooses the training rows."""
    source = scaling.source
    statements = {source.statement_of(call) for call in scaling.calls}
    if len(statements) != 1 or is_read_between(scaling, last):
        return None
    (statement,) = statements
    if last not in block_of(source, statement) or any(
        shares_lines(source, known) for known in (statement, last)
    ):
        return None
    owners = scaling.owners
    if not all(isinstance(owner, ast.Name) for owner in owners):
        return None
    written = source.segment(statement)
    for owner in sorted(owners, key=lambda node: node.col_offset, reverse=True):
        if owner.lineno != statement.lineno or not written.isascii():
            return None
        begin = owner.col_offset - statement.col_offset
        written = written[:begin] + text + written[begin + len(scaling.name) :]
    return both(removed(source, statement), inserted_after(source, last, written))


def with_rows(scaling: Scaling, owner: ast.expr, text: str) -> Edit | None:
    """Not of a scaler, which must still give back all rows."""
    call = scaling.source.parents.get(owner)
    if isinstance(call, ast.Call) and call.args and call.args[0] is owner:
        fits = isinstance(call.func, ast.Attribute) and call.func.attr == "fit_transform"
        if fits:
            return None
    return replaced(scaling.source, owner, text) if isinstance(owner, ast.Name) else None
