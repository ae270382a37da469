"""A loss written by hand takes its softmax over the rows of the batch.

## What happens
`F.log_softmax(logits, dim=0)` of (rows, classes) makes the probabilities of one class sum to 1 over
the rows of the batch, not those of one row over the classes.

## Why it matters
Nothing is raised, and the loss falls: the rows of a class compete with each other for it. Nothing
makes a row choose between classes, and the loss depends on which rows share a batch.

## What to do
Name the axis of classes: `dim=-1` for (rows, classes), or use `F.cross_entropy`, which knows it.

## How it is recognised
The gradient of a cross entropy at the logits sums to 0 over the axis of its softmax. At several
steps it summed to 0 over the rows of each class and not over the classes of each row, while it
moved each prediction towards its own label.
"""

import ast

from surefit.doctor.findings import Finding, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case, Remedy
from surefit.laws.invariants.own_pull import RowsCompete
from surefit.laws.losses.loss_stories import plain_name
from surefit.laws.losses.loss_way import softmax_operation
from surefit.laws.operations.operation_calls import line_of, only_call
from surefit.laws.runs import law_holds
from surefit.remedies.arguments import call_at
from surefit.remedies.change import Change
from surefit.source.edits import argument_added, replaced

RULE = Rule("SF478", "loss-normalised-over-the-batch", Severity.ERROR, __doc__)


@RULE.on(RowsCompete)
def rows_share_the_probability_of_a_class(broken: RowsCompete, case: Case) -> Finding:
    softmax = softmax_operation(case.recording)
    place = softmax.place if softmax is not None else None
    use = line_of(case, place) if place is not None else broken.use
    return case.finding(
        use.place,
        broken.said,
        facts=broken.facts,
        why="Rows of a batch are independent examples: each has a probability for every class, and"
        " those sum to 1.",
        remedies=(over_the_classes(broken, case, plain_name(softmax.name)),)
        if softmax is not None
        else (),
    )


def over_the_classes(broken: RowsCompete, case: Case, name: str) -> Remedy | None:
    softmax = softmax_operation(case.recording)
    written = only_call(case, softmax.place if softmax is not None else None, name)
    source, call = call_at(case, written)
    if source is None or call is None:
        return None
    named = source.argument(call, "dim")
    numbers = [given for given in call.args if isinstance(given, ast.Constant)]
    axis = named or (numbers[0] if len(numbers) == 1 else None)
    edit = replaced(source, axis, "-1") if axis else argument_added(source, call, "dim", "-1")
    return Change(to=edit, words="Take it over the classes: `dim=-1`.", must=law_holds(broken))
