"""Evaluation changes running statistics of the model.

## What happens
A module of the script's own keeps statistics in a buffer (a running mean, a moving average, a
codebook) and updates them in `forward` without asking for `self.training`.

## Why it matters
The rows of the evaluation go into the model: results depend on what was evaluated before, and the
model that is saved has seen its test data.

## What to do
Update the buffer only `if self.training:`.

## How it is recognised
In calls in evaluation mode that no backward pass goes through, a saved buffer of floating point
numbers with the name of a statistic is another tensor, or was written to, after the call. Silent
for caches, hidden states, queues and counters.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.findings import Finding, Place, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.invariants.evaluation_mode import StatisticsChangedInEvaluation
from surefit.laws.runs import law_holds
from surefit.remedies.change import Change
from surefit.source.line_edits import shares_lines
from surefit.source.patches import Edit, Replace
from surefit.source.reading import Source, called, dotted, targets

RULE = Rule("SF524", "statistics-updated-in-evaluation", Severity.ERROR, __doc__)


@RULE.on(StatisticsChangedInEvaluation)
def evaluation_changes_the_model(broken: StatisticsChangedInEvaluation, case: Case) -> Finding:
    found = [
        (source, statement)
        for source in case.recording.sources()
        for statement in updates(source, broken.calls.changed)
    ]
    place = broken.use.place
    remedies = []
    if found:
        source, statement = found[0]
        place = Place(source.file, statement.lineno, statement.end_lineno)
        statements = [other for where, other in found if where is source]
        words = "Update it in training mode alone: `if self.training:`."
        edit = guarded_by_mode(source, statements)
        remedies.append(Change(to=edit, words=words, must=law_holds(broken)))
    return case.finding(
        place,
        broken.said,
        facts=broken.facts,
        why="The update in `forward` does not ask for `self.training`: `model.eval()` does not"
        " stop it, and rows of the evaluation go into the statistics.",
        remedies=remedies,
    )


def updates(source: Source, names: tuple[str, ...]) -> Iterator[ast.stmt]:
    """Statements that set or change such an attribute of `self`, outside `__init__`."""
    wanted = {f"self.{name.rpartition('.')[2]}" for name in names}
    met: set[ast.stmt] = set()
    for node in source.every(ast.Attribute):
        if dotted(node) not in wanted:
            continue
        statement = source.statement_of(node)
        scope = source.scope_of(node)
        if statement in met or getattr(scope, "name", "") in ("__init__", ""):
            continue
        if changes(statement, dotted(node)):
            met.add(statement)
            yield statement


def changes(statement: ast.stmt, name: str) -> bool:
    if isinstance(statement, ast.Assign | ast.AugAssign):
        parts = [part for target in targets(statement) for part in ast.walk(target)]
        return any(dotted(part) == name for part in parts)
    call = statement.value if isinstance(statement, ast.Expr) else None
    while isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        inside = call.func.value
        base = (
            inside.value if isinstance(inside, ast.Attribute) and inside.attr == "data" else inside
        )
        if dotted(base) == name and called(call).endswith("_"):
            return True
        call = inside
    return False


def guarded_by_mode(source: Source, statements: list[ast.stmt]) -> Edit | None:
    """Each under `if self.training:`."""
    replaced = []
    for statement in statements:
        if shares_lines(source, statement) or statement.lineno != statement.end_lineno:
            return None
        span = source.span(statement)
        before = " " * span.column
        text = f"if self.training:{source.newline}{before}    {source.segment(statement)}"
        replaced.append(Replace(span, text))
    return Edit(source.file, tuple(replaced)) if replaced else None
