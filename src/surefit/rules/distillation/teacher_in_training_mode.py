"""A teacher is run in training mode, so that its targets are drawn at random.

## What happens
A new module is in training mode: dropout leaves out other activations at every call, and batch norm
uses the rows of the batch. A model that is only asked for targets stays in it until somebody calls
`.eval()`; `torch.no_grad()` and `requires_grad_(False)` do not change it. A model that holds the
teacher puts it back with its own `.train()`.

## Why it matters
Nothing is reported, and the student learns a noisy copy: the same text gets other targets each
time. Batch norm in training mode changes the teacher itself, its running averages.

## What to do
Call `teacher.eval()` once it is created and loaded; where a model holds it, after each `.train()`
of that model, or in its own `train` method.

## How it is recognised
A module that no optimizer holds is called in training mode, without gradients; dropout layers with
p > 0, or batch norms, are in that mode; and what it gives back enters the loss without going
through a trained model. Silent where its weights change (a moving average of the student), where
the source calls `.train()` on it, where its input comes from the trained model (a judge), and where
it is the body under a trained head.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.conditions.beside import Alike, RunsInEvaluationMode
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import BesideSeen, Steps
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.words import code, counted, spoken
from surefit.laws.training.teachers import Teacher, teachers
from surefit.remedies.evaluation_mode import (
    before_the_call,
    before_the_loop,
    made_by,
    name_made,
)
from surefit.source.edits import inserted_after
from surefit.source.line_edits import shares_lines
from surefit.source.reading import Source, dotted

RULE = Rule("SF955", "teacher-in-training-mode", Severity.ERROR, __doc__)

FEWEST_CALLS = 2


@RULE.on(Steps)
def targets_are_drawn_at_random(steps: Steps, seen: Recording) -> Iterator[Finding]:
    if steps.process.rank not in (None, 0):
        return
    for one in steps.beside:
        if one.idle >= FEWEST_CALLS and (one.dropouts or one.norms) and not one.moved:
            teacher = next(teachers(one, steps, seen), None)
            if teacher is not None and not is_meant(teacher, one):
                yield found(teacher, one, steps)


def is_meant(teacher: Teacher, one: BesideSeen) -> bool:
    """Of a model that never learned here, somebody set the mode by name."""
    return not one.learned and any(True for _ in modes_set(teacher, "train"))


def modes_set(teacher: Teacher, mode: str) -> Iterator[ast.Call]:
    """`teacher.train()` for it or another name of it."""
    for call, owner in calls_without_arguments(teacher.source, mode):
        if owner in teacher.names:
            yield call


def calls_without_arguments(source: Source, method: str) -> Iterator[tuple[ast.Call, str]]:
    """And what they are called on; `train(False)` is the other mode."""
    for call in source.every(ast.Call):
        match call:
            case ast.Call(func=ast.Attribute(value=owner, attr=name), args=[]) if name == method:
                yield call, dotted(owner)


def found(teacher: Teacher, one: BesideSeen, steps: Steps) -> Finding:
    made = made_by(teacher)
    switched = next(modes_set(teacher, "eval"), None)
    place = Place(teacher.source.file, teacher.call.lineno)
    if switched is None and made is not None and not one.learned:
        place = Place(teacher.source.file, made.lineno, made.end_lineno)
    return RULE.finding(
        place,
        f"`{teacher.name}` gives the targets and is in training mode: {layers(one)}.",
        facts=tuple(facts(teacher, one, steps, switched)),
        ruled_out=(Fact("a moving average", "no: its weights stayed as they were"),),
        why=why(one),
        fixes=(fix(teacher, one, made, switched),),
    )


def layers(one: BesideSeen) -> str:
    parts = []
    if one.dropouts:
        rates = spoken(f"{rate:g}" for rate in one.rates)
        verb = "is" if one.dropouts == 1 else "are"
        parts.append(f"{counted(one.dropouts, 'dropout layer')} (p = {rates}) {verb} active")
    if one.norms:
        verb = "follows" if one.norms == 1 else "follow"
        parts.append(f"{counted(one.norms, 'batch norm')} {verb} the rows of the batch")
    return spoken(parts)


def why(one: BesideSeen) -> str:
    if one.dropouts:
        return (
            "In training mode dropout leaves out other activations at every call: the same input"
            " gets other targets each time. `no_grad` and `requires_grad_(False)` do not change"
            " the mode."
        )
    return (
        "In training mode batch norm uses the mean and variance of this batch: the target of a row"
        " depends on the rows beside it, and each call changes the teacher's running averages."
    )


def facts(
    teacher: Teacher, one: BesideSeen, steps: Steps, switched: ast.Call | None
) -> Iterator[Fact]:
    where = f", created at {one.made_at}" if one.made_at else ""
    yield Fact(code(teacher.name), f"{one.kind}{where}; no optimizer holds it")
    calls = f"{counted(one.idle, 'call')}, at line {teacher.call.lineno}"
    yield Fact("in training mode", f"{calls}, in {counted(steps.steps, 'step')}")
    if one.evaluating:
        yield Fact("in evaluation mode", counted(one.evaluating, "call"))
    if switched is not None:
        put_back = [call.lineno for call, _ in calls_without_arguments(teacher.source, "train")]
        back = f"; `.train()` at line {spoken(map(str, put_back))} puts it back" if put_back else ""
        yield Fact("`.eval()`", f"called at line {switched.lineno}{back}")


def fix(teacher: Teacher, one: BesideSeen, made: ast.stmt | None, switched: ast.Call | None) -> Fix:
    must = RunsInEvaluationMode(Alike(one.kind, one.parameters), late=one.learned)
    if one.learned and (edit := before_the_loop(teacher)) is not None:
        text = f"Put it in evaluation mode before it teaches: `{teacher.name}.eval()`."
        return Fix(text, edit, must)
    if made is not None and switched is None and not one.learned:
        name = name_made(teacher, made)
        if name and not shares_lines(teacher.source, made):
            text = f"Put it in evaluation mode where it is created: `{name}.eval()`."
            return Fix(text, inserted_after(teacher.source, made, f"{name}.eval()"), must)
    edit = before_the_call(teacher)
    text = f"Put it in evaluation mode before it is called: `{teacher.name}.eval()`."
    if edit is None:
        return Fix(text, why_not_tried="its call shares a line with other statements")
    return Fix(text, edit, must)
