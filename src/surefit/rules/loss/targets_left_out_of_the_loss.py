"""Rows, positions or columns have targets, and the loss never looks at their predictions.

## What happens
An index or a slice stands between the output and the loss: `losses[0]` after `reduction="none"`,
`logits[:, :-1]` in a task that does not predict the next token, `pred[:, 0]` of three columns. What
it leaves out has a target all the same.

## Why it matters
Nothing is raised and the loss falls. A part of every batch teaches nothing: the last position, two
of three outputs, or all rows but the first, which is a batch size of 1 at the price of 32.

## What to do
Take the index away, from the predictions and from the targets, and reduce with `.mean()`.

## How it is recognised
The gradient of the loss at the output of the model was taken at several steps. It moves predictions
towards their targets, and for the same indices at the first or last end of an axis it is 0 at every
step, although targets there differ. Rows that are left out by their content, as by a margin or for
the hardest ones, change from step to step; the first steps of a sequence, several at once, are left
out on purpose.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.findings import Fact, Finding, Severity
from surefit.doctor.observations import Operation
from surefit.doctor.rule import Rule
from surefit.doctor.violations import Expression
from surefit.doctor.words import code, shape_of
from surefit.laws.case import Case, Remedy
from surefit.laws.invariants.own_pull import NotPulled
from surefit.laws.losses.loss_way import cutting_operation
from surefit.laws.operations.operation_calls import line_of
from surefit.laws.runs import law_holds
from surefit.remedies.change import Change
from surefit.source.edits import own_span
from surefit.source.patches import Edit, Replace
from surefit.source.reading import Source

RULE = Rule("SF476", "targets-left-out-of-the-loss", Severity.WARNING, __doc__)


@RULE.on(NotPulled)
def what_has_a_target_has_no_gradient(broken: NotPulled, case: Case) -> Finding | None:
    if broken.part is None:
        return None
    cut = cutting_operation(case.recording, broken.part.size)
    place = cut.place if cut is not None and cut.place is not None else None
    use = line_of(case, place) if place is not None else broken.use
    return case.finding(
        use.place,
        broken.said,
        facts=(*broken.facts, *cut_facts(cut)),
        why="What gets no gradient is not learned from, whatever its targets say.",
        remedies=without_index(broken, case, use, cut) if cut is not None else (),
    )


def cut_facts(cut: Operation | None) -> tuple[Fact, ...]:
    if cut is None:
        return ()
    rest = f"a tensor of shape {shape_of(cut.shape)}" if cut.shape else "a single number"
    return (Fact("after the index", f"{rest} goes into the loss"),)


def without_index(
    broken: NotPulled, case: Case, use: Expression, cut: Operation
) -> Iterator[Remedy]:
    source = case.source(use.place)
    statement = source.statement_at(use.place.line or 0) if source is not None else None
    if source is None or statement is None:
        return
    here = [node for node in ast.walk(statement) if isinstance(node, ast.Subscript)]
    for text in dict.fromkeys(source.segment(node.slice) for node in here):
        scope = source.scope_of(statement)
        alike = [
            node
            for node in source.every(ast.Subscript)
            if source.segment(node.slice) == text and source.scope_of(node) is scope
        ]
        ending = "" if cut.shape else ".mean()"
        named = " and ".join(dict.fromkeys(code(source.segment(node)) for node in alike[:2]))
        yield Change(
            to=taken_away(source, alike, ending),
            words=f"Take all of it: without the index of {named}.",
            must=law_holds(broken),
            choice=True,
        )


def taken_away(source: Source, nodes: list[ast.Subscript], ending: str) -> Edit:
    changes = [
        Replace(own_span(source, node), f"{source.segment(node.value)}{ending}") for node in nodes
    ]
    return Edit(source.file, tuple(changes))
