"""An iterator that is made once is used up after the first epoch: later ones have no batch.

## What happens
`batches = iter(loader)`, or a `zip`, `map` or generator over loaders, is made before the loop over
epochs. It can be gone through once. In the second epoch the inner loop ends at once, without an
error.

## Why it matters
The model is trained for one epoch, whatever number is set. The learning rate and the printed losses
go on as if it were trained.

## What to do
Make the iterator inside the loop over epochs, or loop over the loader itself.

## How it is recognised
A loop asks an iterator for a batch after that has come to its end, and no other iterator over the
same rows was trained on.
"""

import ast

from surefit.doctor.findings import Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.words import counted
from surefit.laws.case import Case
from surefit.laws.rows.row_faults import IteratorUsedUp
from surefit.laws.runs import law_holds
from surefit.remedies.replace import ReplaceWith
from surefit.source.reading import Source, called

RULE = Rule("SF268", "iterator-used-up", Severity.ERROR, __doc__)


@RULE.on(IteratorUsedUp)
def later_epochs_are_empty(broken: IteratorUsedUp, case: Case) -> Finding:
    use = broken.loader
    return case.finding(
        broken.use.place,
        f"The iterator over the batches is exhausted after the first epoch, {use.trained:,}"
        f" batches: {counted(use.asked_after_the_end, 'later epoch')} trained on nothing.",
        facts=broken.facts,
        why="An iterator can be gone through once. A loop over one that has ended has no rounds,"
        " and no error.",
        remedies=(remedy(broken, case),),
    )


def remedy(broken: IteratorUsedUp, case: Case) -> ReplaceWith | Fix:
    words = "Make a new iterator in each epoch."
    source = case.source(broken.use.place)
    name = looped(source, broken.use.place.line or 0) if source is not None else None
    value = source.value_of(name) if source is not None and name is not None else None
    if source is None or name is None or value is None or value is name:
        return Fix(words)
    text = source.segment(value)
    if isinstance(value, ast.Call) and called(value) == "iter" and len(value.args) == 1:
        text = source.segment(value.args[0])
    at = case.expression(source, name)
    return ReplaceWith(at=at, text=text, words=words, must=law_holds(broken))


def looped(source: Source, line: int) -> ast.Name | None:
    """The name that a loop at this line goes through, also inside `enumerate`."""
    statement = source.statement_at(line)
    loop = next(
        (
            node
            for node in ((statement, *source.up(statement)) if statement is not None else ())
            if isinstance(node, ast.For)
        ),
        None,
    )
    node: ast.expr | None = loop.iter if loop is not None else None
    while isinstance(node, ast.Call) and called(node) in ("enumerate", "tqdm") and node.args:
        node = node.args[0]
    return node if isinstance(node, ast.Name) else None
