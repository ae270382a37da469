"""The optimizer holds the parameters of another model than the one that is trained.

## What happens
An optimizer holds tensors, not a model. If the model is copied, created again or wrapped after the
optimizer was created, or if the optimizer was given the parameters of another model, gradients
arrive at tensors that it does not hold. The same if `backward` is never called.

## Why it matters
Every step passes over all of its tensors, because they have no gradient, and says nothing. Only a
gradient scaler raises: `No inf checks were recorded for this optimizer.`

## What to do
Create the optimizer last, from the parameters of the very model that the loss is computed with.

## How it is recognised
At every step that was looked at, no tensor of the optimizer had a gradient, though they require
one, and gradients were not cleared just before. Where parameters of other models got gradients,
these are named.
"""

import ast
from collections.abc import Iterator, Sequence

from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.observations import ParameterSeen, RootSeen, Steps
from surefit.doctor.progress import final_steps
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Expression, fact_at
from surefit.doctor.words import code, counted, some
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.optimizers import NothingToUnscale
from surefit.laws.invariants.weights_learn import NoGradientArrives
from surefit.laws.runs import law_holds
from surefit.remedies.change import Change
from surefit.remedies.replace import ReplaceWith
from surefit.source.edits import inserted_before, moved_after
from surefit.source.line_edits import block_of, shares_lines
from surefit.source.reading import Source, called, dotted, targets

SYMPTOM = Symptom(
    r"No inf checks were recorded for this optimizer",
    "whether the optimizer holds the parameters of the model that is trained",
)
RULE = Rule("SF614", "optimizer-of-another-model", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))


@RULE.on(NoGradientArrives)
def gradients_go_elsewhere(broken: NoGradientArrives, case: Case) -> Finding | None:
    steps = trained_by(broken, case)
    if steps is None:
        return None
    if not steps.backwards:
        return never_backward(broken, case)
    others = [known for known in steps.outside if not known.changed]
    if not others:
        return None  # what cuts the model from the loss is the affair of another rule
    holds, learns = root_of(broken, steps), root_at(others[0].root, steps)
    return case.finding(
        broken.use.place,
        f"{broken.name} holds {model_in_words(holds)}, and gradients go to"
        f" {model_in_words(learns, 'another ' if same_kind(holds, learns) else '')}: no tensor that"
        " the optimizer holds ever has a gradient, and the model that is trained is not held by any"
        " optimizer.",
        facts=(
            *broken.facts,
            Fact("with a gradient, in no optimizer", some(known.name for known in others)),
            Fact("in the optimizer", f"{counted(broken.held.tensors, 'tensor')}, all without"),
        ),
        why="An optimizer holds the tensors that it was given when it was created. A model that is"
        " created, copied or loaded again afterwards has other tensors.",
        remedies=tuple(remedies(broken, case, steps, others)),
    )


@RULE.on(NothingToUnscale)
def scaler_finds_no_gradient(broken: NothingToUnscale, case: Case) -> Finding | None:
    made_at = broken.optimizer.made_at
    source = case.source(made_at)
    statement = source.statement_at(made_at.line) if source and made_at and made_at.line else None
    given = given_model(source, statement) if source and statement else None
    if made_at is None or source is None or statement is None or given is None:
        return None
    name, gradients = code(dotted(given)), broken.gradients
    again = bound_later(source, statement, dotted(given))
    edit = moved_after(source, statement, again) if again is not None else None
    words = f"Create the optimizer after the last line that binds {name}."
    return case.finding(
        made_at,
        f"The optimizer was given the parameters that {name} had here, and none of them has a"
        f" gradient: {code(broken.use.text)} has nothing to unscale.",
        facts=(
            *([Fact(f"{name} is bound again", f"{source.file}:{again.lineno}")] if again else ()),
            Fact(
                "with a gradient",
                f"{counted(gradients.present, 'parameter')} of the {code(gradients.root)} that is"
                " trained",
            ),
            *fact_at("fails at", broken.use),
        ),
        why="An optimizer holds the tensors that it was given when it was created. A model that is"
        " created, copied or loaded again afterwards has other tensors.",
        remedies=(Change(to=edit, words=words) if edit is not None else Fix(words, choice=True),),
    )


def trained_by(broken: NoGradientArrives, case: Case) -> Steps | None:
    every = final_steps(case.recording)
    return next((steps for steps in every if broken.optimizer in steps.optimizers), None)


def root_of(broken: NoGradientArrives, steps: Steps) -> RootSeen | None:
    serial = broken.optimizer.serial
    roots = [known.root for known in steps.parameters if known.held_by == serial]
    return root_at(roots[0], steps) if roots else None


def root_at(serial: int, steps: Steps) -> RootSeen | None:
    return next((root for root in steps.roots if root.serial == serial), None)


def same_kind(first: RootSeen | None, second: RootSeen | None) -> bool:
    return first is not None and second is not None and first.kind == second.kind


def model_in_words(root: RootSeen | None, before: str = "") -> str:
    if root is None:
        return "the parameters of a model that is gone"
    at = f", created at {root.made_at}" if root.made_at else ", a copy"
    return f"the parameters of {before}`{root.kind}`{at}"


def remedies(
    broken: NoGradientArrives, case: Case, steps: Steps, others: Sequence[ParameterSeen]
) -> Iterator[Remedy | Fix]:
    source, line = case.source(broken.use.place), broken.use.place.line
    statement = source.statement_at(line) if source and line else None
    given = given_model(source, statement) if source and statement else None
    learns = root_at(others[0].root, steps)
    if source is not None and statement is not None and given is not None:
        again = bound_later(source, statement, dotted(given))
        edit = moved_after(source, statement, again) if again is not None else None
        if edit is not None:
            words = f"Create {broken.name} after the last line that binds {code(dotted(given))}."
            yield Change(to=edit, words=words, must=law_holds(broken))
        name = called_as(case, learns)
        if again is None and name and name != dotted(given):
            at: Expression = case.expression(source, given)
            words = f"Give it the model that is trained: {code(f'{name}.parameters()')}."
            yield ReplaceWith(at=at, text=name, words=words, must=law_holds(broken))
    yield Fix(
        "Create the optimizer last, from the parameters of the model that the loss is computed"
        " with.",
        choice=True,
    )


def given_model(source: Source, statement: ast.stmt) -> ast.expr | None:
    """`model` of `Adam(model.parameters())`."""
    for node in ast.walk(statement):
        match node:
            case ast.Call(func=ast.Attribute(value=owner, attr="parameters" | "named_parameters")):
                return owner if source.segment(owner) else None
    return None


def bound_later(source: Source, statement: ast.stmt, name: str) -> ast.stmt | None:
    """The last statement of the same block, after this one, that binds the name again."""
    block = block_of(source, statement)
    later = [
        node
        for node in block[block.index(statement) + 1 :]
        if isinstance(node, ast.Assign) and name in map(dotted, targets(node))
    ]
    return later[-1] if later else None


def called_as(case: Case, root: RootSeen | None) -> str:
    """`net` of `net(x)`, at the line that calls it."""
    at = root.called_at if root is not None else None
    source = case.source(at)
    if source is None or at is None or at.line is None:
        return ""
    names = [dotted(call.func) for call in source.calls_in(at.line)]
    plain = [name for name in names if name and "." not in name and name.islower()]
    return plain[0] if len(plain) == 1 else ""


def never_backward(broken: NoGradientArrives, case: Case) -> Finding:
    at = broken.held.stepped_at or broken.use.place
    source = case.source(at)
    statement = source.statement_at(at.line) if source and at.line else None
    remedy: Remedy | Fix = Fix("Call `loss.backward()` before the step.", choice=True)
    if source is not None and statement is not None and not shares_lines(source, statement):
        loss = last_loss(source, statement)
        if loss:
            words = f"Compute gradients before the step: `{loss}.backward()`."
            edit = inserted_before(source, statement, f"{loss}.backward()")
            remedy = Change(to=edit, words=words, must=law_holds(broken))
    return case.finding(
        at,
        f"`loss.backward()` is never called: {broken.name} took"
        f" {counted(broken.optimizer.steps, 'step')} without a gradient, and nothing learns.",
        facts=(*broken.facts, Fact("backward passes", "0")),
        why="An optimizer passes over parameters that have no gradient; `backward` computes them.",
        remedies=(remedy,),
    )


def last_loss(source: Source, statement: ast.stmt) -> str:
    """The name that a line before it binds to the loss."""
    block = block_of(source, statement)
    names = [
        dotted(target)
        for node in block[: block.index(statement)]
        if isinstance(node, ast.Assign)
        for target in targets(node)
        if "loss" in dotted(target).lower()
        and isinstance(node.value, ast.Call | ast.BinOp)
        and not (isinstance(node.value, ast.Call) and called(node.value) == "item")
    ]
    return names[-1] if names else ""
