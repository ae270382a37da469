"""Backward passes run, and no step is taken: `optimizer.step()` is not called, or changes nothing.

## What happens
`loss.backward()` only computes gradients. A step has to follow. `optimizer.step` without brackets
names the method and does not call it; `p = p - rate * p.grad` in a loop over parameters binds the
name `p` to a new tensor and leaves the model as it was.

## Why it matters
The loss is printed every epoch and changes a little with the batches. The model is the one that was
initialised. Of two optimizers it is easier to miss: what the other one holds learns around weights
that never change.

## What to do
Call `optimizer.step()` after `backward`; by hand, change parameters in place: `p -= rate * p.grad`
under `torch.no_grad()`.

## How it is recognised
`backward` ran in training mode, no optimizer stepped, and the values of parameters, compared over
six backward passes at least, are the same to the bit. Without an optimizer only where the source
has a line that should have changed them. Of several optimizers: others stepped at least 24 times,
this one never; the parameters that it alone holds got new gradients and are the same to the bit.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.conditions.condition import Condition
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.words import code
from surefit.laws.case import Case, Remedy
from surefit.laws.invariants.weights_learn import NoStepTaken, OptimizerNeverSteps
from surefit.laws.runs import law_holds
from surefit.laws.training.made_names import name_at
from surefit.remedies.change import Change
from surefit.source.edits import appended, inserted_after, replaced
from surefit.source.line_edits import shares_lines
from surefit.source.reading import Source, called, dotted

RULE = Rule("SF612", "no-step-taken", Severity.ERROR, __doc__)


@RULE.on(NoStepTaken)
def nothing_moves(broken: NoStepTaken, case: Case) -> Finding | None:
    by_hand = next(updates_by_hand(case), None)
    if by_hand is None and not broken.certain:
        return None
    source = case.source(broken.measured.made_at)
    name = name_at(source, broken.measured.made_at) or "optimizer"
    uncalled = next(uncalled_steps(case), None)
    place, what = broken.use.place, f"`{name}.step()` is never called"
    remedies: list[Remedy | Fix] = []
    must = law_holds(broken)
    if uncalled is not None:
        where, node = uncalled
        text = where.segment(node)
        place, what = Place(where.file, node.lineno), f"{code(text)} has no brackets: it is no call"
        words = f"Call it: {code(text + '()')}."
        remedies = [Change(to=appended(where, node, "()"), words=words, must=must)]
    elif by_hand is not None:
        place = Place(by_hand[0].file, by_hand[1].lineno)
        what = (
            f"{code(by_hand[0].segment(by_hand[1]))} binds a name to a new tensor and leaves the"
            " parameter as it was"
        )
        remedies = [in_place(*by_hand, must)]
    elif not any(True for _ in steps_in_source(case)):
        remedies = list(step_after_backward(case, broken, name, must))
    return case.finding(
        place,
        f"`backward` ran {backwards(broken)} times, and no parameter was updated: {what}.",
        facts=(
            Fact("steps of optimizers", "0"),
            Fact(
                "parameters compared",
                f"{broken.measured.watched:,}, over {broken.measured.compared:,} backward passes:"
                " the same to the bit",
            ),
            Fact("`backward` is called at", str(broken.use.place)),
        ),
        why="`backward` computes gradients and changes no parameter.",
        remedies=remedies or [Fix("Take a step after each backward pass.", choice=True)],
    )


@RULE.on(OptimizerNeverSteps)
def another_optimizer_steps(broken: OptimizerNeverSteps, case: Case) -> Finding:
    step = next(steps_beside(broken.name, case), None)
    text = f"Step it, too, after each backward pass: `{broken.name}.step()`."
    fix: Remedy | Fix = Fix(text)
    place = broken.use.place
    if step is not None:
        source, statement = step
        place = Place(source.file, statement.lineno)
        if not shares_lines(source, statement):
            edit = inserted_after(source, statement, f"{broken.name}.step()")
            fix = Change(to=edit, words=text, must=law_holds(broken))
    return case.finding(
        place,
        broken.said,
        facts=broken.facts,
        why="Each optimizer updates the parameters that it holds, and only in its own `step`.",
        remedies=(fix,),
    )


def steps_beside(name: str, case: Case) -> Iterator[tuple[Source, ast.Expr]]:
    """The last step of another optimizer in a function that uses this one."""
    for source in case.recording.sources():
        scopes = {
            source.scope_of(node)
            for node in source.every(ast.Attribute)
            if dotted(node.value) == name and node.attr == "zero_grad"
        }
        steps = [
            statement
            for statement in source.every(ast.Expr)
            if isinstance(statement.value, ast.Call)
            and source.scope_of(statement) in scopes
            and is_step_of_an_optimizer(statement.value)
        ]
        if steps:
            yield source, max(steps, key=lambda statement: statement.lineno)


def is_step_of_an_optimizer(call: ast.Call) -> bool:
    return called(call) == "step" and "sched" not in dotted(call.func).lower()


def backwards(broken: NoStepTaken) -> str:
    return f"{broken.measured.compared + 1:,} or more"


def uncalled_steps(case: Case) -> Iterator[tuple[Source, ast.expr]]:
    """`optimizer.step` as a statement."""
    for source, node in case.recording.every(ast.Expr):
        if isinstance(node.value, ast.Attribute) and node.value.attr == "step":
            yield source, node.value


def steps_in_source(case: Case) -> Iterator[ast.Call]:
    for _, call in case.recording.every(ast.Call):
        if is_step_of_an_optimizer(call):
            yield call


def updates_by_hand(case: Case) -> Iterator[tuple[Source, ast.Assign]]:
    """`p = p - rate * p.grad`."""
    for source, node in case.recording.every(ast.Assign):
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.BinOp(left=ast.Name(id=same), op=ast.Sub(), right=right),
            ) if name == same and uses_gradient(right, name):
                yield source, node


def uses_gradient(node: ast.expr, name: str) -> bool:
    return any(dotted(part) == f"{name}.grad" for part in ast.walk(node))


def in_place(source: Source, statement: ast.Assign, must: Condition) -> Remedy:
    assert isinstance(statement.value, ast.BinOp)
    name = source.segment(statement.targets[0])
    off = any(isinstance(outer, ast.With) for outer in source.up(statement))
    owner = name if off else f"{name}.data"
    text = f"{owner} -= {source.segment(statement.value.right)}"
    words = f"Change the parameter in place: {code(text)}."
    return Change(to=replaced(source, statement, text), words=words, must=must)


def step_after_backward(
    case: Case, broken: NoStepTaken, name: str, must: Condition
) -> Iterator[Remedy | Fix]:
    source, line = case.source(broken.use.place), broken.use.place.line
    statement = source.statement_at(line) if source and line else None
    if source is None or statement is None or shares_lines(source, statement):
        return
    text = f"{name}.step()\n{name}.zero_grad()"
    if any(called(call) == "zero_grad" for call in source.every(ast.Call)):
        text = f"{name}.step()"
    yield Change(
        to=inserted_after(source, statement, text),
        words=f"Take a step after the backward pass: `{name}.step()`.",
        must=must,
    )
